package netlog

import (
	"fmt"
	"io"
	"maps"
	"os"

	"example.com/wiretest/netlog/internal/chromefile"
)

// ReadOptions change how a NetLog is read. The zero value is what Read uses.
type ReadOptions struct {
	// Constants is another NetLog, of which only the head is read, written by the
	// same build of the browser. Its table of constants stands in where the log
	// has none of its own, as a part cut out of one. nil is none.
	Constants io.Reader

	// Background keeps the browser's own requests: update checks, its list of
	// accounts and the like, about six in each log. They are left out, with the
	// connections that carried nothing else, because they are no page's. A request
	// is the browser's own if it says that it has no origin for initiator and is
	// no navigation, in a log in which others are. Where a log does not say who
	// asked, as Cronet's or one with HeavilyRedacted capture, all are kept.
	Background bool

	// Issuers are common names of authorities that are the hosts' own, as a
	// company's is for its intranet: their certificates are no interception,
	// although no browser ships with them. See Log.Findings.
	Issuers []string
}

// Read reads a NetLog of Chromium or of what is built on it (Chrome, Edge,
// Electron, Cronet, WebView): from its network stack of 2019 to the one of
// HappyEyeballsV3. It may be plain, gzip or zip, whatever it is called, with an
// event per line or all on one, with the constants last, or in the form of one
// JSON object per line. Read takes what comes from a pipe or a connection, too,
// and keeps no more of it than what it makes of it.
//
// A damaged file, such as one whose browser was killed, gives every event that
// is whole, and Damage says what is missing. An error is only that r holds
// something else, and then says what, or nothing whole.
//
// A connection is one that was opened: a dial that was refused, lost a race or
// was rejected by the proxy makes none. Opened is when TCP was connected, or when
// QUIC's first packet was sent. What the log does not say is Unknown, or Redacted
// if it was captured so. Bytes and MaxStreams are as far as the log goes; header
// bytes are not in it and are -1. A Request is one that was sent, or failed
// before that: what a cache answered is none, and a redirect makes two; those of
// the browser itself are left out, see ReadOptions.Background. Its Connection is
// nil where the log does not say which one it was, as with HappyEyeballsV3 over
// http/1.1; the connections still say how many they carried. Its Wait lasts until
// it was sent, with a wait for a stream. Times have milliseconds and are in UTC.
func Read(r io.Reader) (*Log, error) { return ReadWith(r, nil) }

// ReadFile is Read of the named file.
func ReadFile(name string) (*Log, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("netlog: read: %w", err)
	}
	defer file.Close()
	log, err := read(file, nil)
	if err != nil {
		return nil, fmt.Errorf("netlog: read: %s: %w", name, err)
	}
	return log, nil
}

// ReadWith is Read with options; nil is none.
func ReadWith(r io.Reader, opt *ReadOptions) (*Log, error) {
	log, err := read(r, opt)
	if err != nil {
		return nil, fmt.Errorf("netlog: read: %w", err)
	}
	return log, nil
}

func read(r io.Reader, opt *ReadOptions) (*Log, error) {
	if opt == nil {
		opt = new(ReadOptions)
	}
	fallback, err := opt.table()
	if err != nil {
		return nil, fmt.Errorf("ReadOptions.Constants: %w", err)
	}
	c := newChrome(opt)
	found, err := chromefile.Read(r, &chromefile.Options{Constants: fallback}, c.see)
	if err != nil {
		return nil, err
	}
	return c.conclude(found), nil
}

func (opt *ReadOptions) table() (*chromefile.Constants, error) {
	if opt.Constants == nil {
		return nil, nil
	}
	return chromefile.ReadConstants(opt.Constants)
}

// origin is what is known of a Log that was read, beside its records.
type origin struct {
	client   string // name and version of the browser
	damage   []Damage
	counts   map[string]int // of events, by name
	conns    map[*ConnectionRecord]*carrierFacts
	stalls   []stallFacts          // of the first ones of Log.stalls
	speaks   map[string][]eventRef // hosts that the browser knows to speak h2
	alts     []AltService
	quicRefs map[string][]witness // that QUIC is broken, by host
	own      int                  // requests that were left out
	issuers  []string             // that are the hosts' own
}

// Events is how many events of each name the file holds from which the Log was
// read; nil if it was recorded. Names are by the file's own constants; what has
// none there is UNKNOWN(n), n being its number.
func (l *Log) Events() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.origin == nil {
		return nil
	}
	return maps.Clone(l.origin.counts)
}

// Client is the name and version of the program that wrote the file, as far as
// the file says; "" if the Log was recorded.
func (l *Log) Client() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.origin == nil {
		return ""
	}
	return l.origin.client
}

// Background is how many requests were left out of the Log because they were the
// browser's own. See ReadOptions.
func (l *Log) Background() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.origin == nil {
		return 0
	}
	return l.origin.own
}
