package chrome

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Open navigates the browser's page to url and waits until the page is done:
// until Config.Done returns or, without one, until its load event, or that of
// the page that has taken its place before. It fails when the page cannot be had
// (the error has Chromium's own words for it, as net::ERR_CONNECTION_REFUSED),
// when it stops loading without that event, as for a proxy that answers CONNECT
// with 407, when browser or page crash, and when ctx ends. An answer of any status
// that has a body is a page.
//
// Calls are served one after the other, and each leaves the page before.
func (b *Browser) Open(ctx context.Context, url string) error {
	if err := b.open(ctx, url); err != nil {
		return fmt.Errorf("chrome: open: %s: %w", url, err)
	}
	return nil
}

func (b *Browser) open(ctx context.Context, url string) error {
	ctx, stop := b.whileAlive(ctx)
	defer stop()
	select {
	case <-b.turn:
		defer func() { b.turn <- struct{}{} }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	ctx, crashed := context.WithCancelCause(ctx)
	defer crashed(nil)
	b.setOnPage(crashed)
	defer b.setOnPage(nil)
	loader, err := b.navigate(ctx, url)
	if err != nil {
		return b.why(ctx, err)
	}
	return b.done(ctx, loader)
}

// aborted is an answer that was no page, as 204 and downloads are, or a page
// that crashed on its way. That is told a moment later, which on a busy machine
// is a second.
const (
	aborted       = "net::ERR_ABORTED"
	untilCrashing = 3 * time.Second
)

func (b *Browser) setOnPage(end func(error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.onPage = end
}

// navigate returns when the page is there to be shown, with the name that the
// browser has for this load of it. That is "" where only a fragment changed.
func (b *Browser) navigate(ctx context.Context, url string) (loader string, err error) {
	var answer struct{ LoaderID, ErrorText string }
	if err := b.conn.call(ctx, b.session, "Page.navigate", params{"url": url}, &answer); err != nil {
		return "", err
	}
	switch {
	case answer.ErrorText == aborted:
		return "", orCause(ctx, errors.New(aborted), untilCrashing)
	case strings.HasPrefix(answer.ErrorText, "net::ERR_CERT_"):
		return "", errors.New(answer.ErrorText + " (Config.Trust has to have what the server presents; behind an intercepting proxy that is the proxy's certificate)")
	case answer.ErrorText != "":
		return "", errors.New(answer.ErrorText)
	}
	return answer.LoaderID, nil
}

func (b *Browser) done(ctx context.Context, loader string) error {
	if b.cfg.Done != nil {
		if err := b.cfg.Done(ctx); err != nil {
			return fmt.Errorf("Config.Done: %w", b.why(ctx, err))
		}
		return nil
	}
	if loader == "" {
		return nil
	}
	for l := b.load(loader); ; l = b.load(l.next) {
		select {
		case <-l.over:
		case <-ctx.Done():
			return fmt.Errorf("no load event: %w", context.Cause(ctx))
		}
		if l.next == "" {
			return l.err
		}
	}
}

// heard takes what the browser tells unasked. It runs on the one goroutine that
// reads.
func (b *Browser) heard(e event) {
	var about struct {
		TargetID, LoaderID, FrameID, Name, Status string
		Frame                                     struct{ ID, LoaderID string }
	}
	if json.Unmarshal(e.Params, &about) != nil {
		return
	}
	switch e.Method {
	case "Target.targetCrashed":
		b.targetCrashed(about.TargetID, about.Status)
	case "Page.lifecycleEvent":
		if about.Name == "load" {
			b.load(about.LoaderID).end(nil, "")
		}
	case "Page.frameNavigated":
		b.navigated(about.Frame.ID, about.Frame.LoaderID)
	case "Page.frameStoppedLoading":
		b.stoppedLoading(about.FrameID)
	}
}

func (b *Browser) targetCrashed(target, status string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.onPage != nil && target == b.target {
		b.onPage(fmt.Errorf("the page crashed (%s)", status))
	}
}
