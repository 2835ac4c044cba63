package sender

// Widths tells the bytes of a stream that have width from those that TLS puts
// around its plaintext, for what carries a stream without a Sender. It must
// see the stream from its first byte.
type Widths struct {
	records records
	pending pending
}

// NewWidths is for a stream that begins.
func NewWidths() *Widths { return &Widths{records: newRecords()} }

// Add takes the next bytes of the stream; it keeps nothing of p.
func (w *Widths) Add(p []byte) { w.records.scan(p, &w.pending) }

// Cut takes what comes next of what was added: at most room bytes that have
// width, and those without that are before, among and right behind them. Size
// counts both.
func (w *Widths) Cut(room int) (width, size int) { return w.pending.cut(room) }
