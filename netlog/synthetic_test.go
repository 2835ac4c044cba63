package netlog

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// synthetic is a log of any length: that of a page, loaded over and over again,
// with ids and times that go on.
type synthetic struct {
	head   []byte
	events [][]piece
	rounds int
	round  int
	next   bytes.Buffer
}

// piece is text and then a number.
type piece struct {
	text   []byte
	number int64
	step   int64 // by which the number grows from round to round; 0 is no number
}

func syntheticLog(tb testing.TB, name string, size int) *synthetic {
	tb.Helper()
	text := PlainLog(tb, name)
	head, rest, _ := bytes.Cut(text, []byte("\n"))
	s := &synthetic{head: append(head, "\n\"events\": [\n"...)}
	_, rest, _ = bytes.Cut(rest, []byte("\n"))
	length := 0
	for line := range bytes.Lines(rest) {
		if line = bytes.TrimRight(line, "],\n"); bytes.HasPrefix(line, []byte(`{"p`)) && line[len(line)-1] == '}' {
			s.events = append(s.events, pieces(line))
			length += len(line) + 2
		}
	}
	s.rounds = max(1, size/length)
	return s
}

// grows finds ids, and times in milliseconds.
var grows = regexp.MustCompile(`"(id":|time":"|start_time":")(\d+)`)

func pieces(line []byte) (all []piece) {
	const ids, milliseconds = 1000, 3000
	at := 0
	for _, m := range grows.FindAllSubmatchIndex(line, -1) {
		n, _ := strconv.ParseInt(string(line[m[4]:m[5]]), 10, 64)
		step := int64(milliseconds)
		if line[m[2]] == 'i' {
			step = ids
		}
		all = append(all, piece{line[at:m[4]], n, step})
		at = m[5]
	}
	return append(all, piece{text: line[at:]})
}

// Read makes a round at a time, so that the log is never in memory.
func (s *synthetic) Read(p []byte) (int, error) {
	if s.next.Len() == 0 {
		if s.round > s.rounds {
			return 0, io.EOF
		}
		s.make()
		s.round++
	}
	return s.next.Read(p)
}

func (s *synthetic) make() {
	switch s.round {
	case 0:
		s.next.Write(s.head)
	case s.rounds:
		s.writeRound()
		s.next.WriteString("{}],\n\"polledData\": [{}]}\n")
		return
	}
	s.writeRound()
}

func (s *synthetic) writeRound() {
	for _, event := range s.events {
		for _, p := range event {
			s.next.Write(p.text)
			if p.step != 0 {
				s.next.WriteString(strconv.FormatInt(p.number+p.step*int64(s.round), 10))
			}
		}
		s.next.WriteString(",\n")
	}
}

// PlainLog is a log of testdata, for the tests outside the package too.
func PlainLog(tb testing.TB, name string) []byte {
	tb.Helper()
	file, err := os.Open("testdata/" + name + ".json.gz")
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		tb.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}
