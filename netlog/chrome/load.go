package chrome

import "errors"

// load is a document on its way, by what the browser names its loader.
type load struct {
	over chan struct{} // closed at its load event, or when it cannot come anymore
	err  error         // why it cannot; both belong to the one goroutine that reads, until over is closed
	next string        // the load that took its place before
}

var errStopped = errors.New("the page stopped loading without a load event")

func (b *Browser) load(loader string) *load {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.loads[loader] == nil {
		b.loads[loader] = &load{over: make(chan struct{})}
	}
	return b.loads[loader]
}

// end says how it ended, which is what was said first.
func (l *load) end(err error, next string) {
	select {
	case <-l.over:
	default:
		l.err, l.next = err, next
		close(l.over)
	}
}

// navigated is told of a frame that shows a new document.
func (b *Browser) navigated(frame, loader string) {
	if !b.isPage(frame) {
		return
	}
	if b.shown != "" && b.shown != loader {
		b.load(b.shown).end(nil, loader)
	}
	b.shown = loader
}

// stoppedLoading is told after the load event if there is one. There is none for
// what shows nothing, such as the answer 407 to CONNECT.
func (b *Browser) stoppedLoading(frame string) {
	if b.isPage(frame) && b.shown != "" {
		b.load(b.shown).end(errStopped, "")
	}
}

// isPage tells the page from frames within it: it has the name of its target.
func (b *Browser) isPage(frame string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return frame == b.target
}
