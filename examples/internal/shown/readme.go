package shown

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// readme is seen from the folder of an example, where its tests run.
const readme = "../../README.md"

// InReadme fails unless the README holds text as it comes out today, in the block
// of code below the line <!-- name -->. With update it writes it there instead;
// examples that update at the same time (go test does so unless -p is 1) would
// overwrite each other's. Lines that hold the word spread, if it is not "", may
// differ in their figures, as those of HTTP/3 do from run to run.
func InReadme(t *testing.T, update bool, name, text, spread string) {
	t.Helper()
	kept, err := os.ReadFile(filepath.FromSlash(readme))
	if err != nil {
		t.Fatal(err)
	}
	now, err := replaced(string(kept), name, text)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case masked(now, spread) == masked(string(kept), spread):
	case update:
		if err := os.WriteFile(filepath.FromSlash(readme), []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("README.md: what stands below <!-- %s --> is not what comes out:\n%s\ngo test -run %s . -update writes it anew", name, text, t.Name())
	}
}

// replaced is the README with text in the block of that name.
func replaced(readme, name, text string) (string, error) {
	const fence = "\n```"
	mark := "<!-- " + name + " -->" + fence
	before, rest, ok := strings.Cut(readme, mark)
	if !ok {
		return "", fmt.Errorf("README.md: no block of code below <!-- %s -->", name)
	}
	_, after, ok := strings.Cut(rest, fence+"\n")
	if !ok {
		return "", fmt.Errorf("README.md: the block of code below <!-- %s --> does not end", name)
	}
	return before + mark + "\n" + strings.TrimRight(trimmed(text), "\n") + fence + "\n" + after, nil
}

// figure is a number, and what it counts where that is time.
var figure = regexp.MustCompile(`\d[\d.]*(m?s|µs)?`)

// masked is without the figures of the lines that hold the word, whose columns
// they move.
func masked(text, word string) string {
	if word == "" {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			line = figure.ReplaceAllString(line, "#")
		}
		out.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
	}
	return out.String()
}

// trimmed is without spaces at the ends of lines, which editors take out.
func trimmed(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return out.String()
}
