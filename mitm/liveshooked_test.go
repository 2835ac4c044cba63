package mitm_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"

	"example.com/wiretest/mitm"
)

// Deeds of hooks.
const (
	reads   = "read"
	delays  = "delay"
	answers = "answer"
	fails   = "fail"
	aborts  = "abort"
)

// drawHooks has hooks do something about every second ask.
func (l *life) drawHooks() {
	l.hookedRequest = pick(l, "", reads, delays, answers, fails, aborts)
	l.hookedResponse = pick(l, "", reads, delays, fails, aborts)
	for _, deed := range []string{l.hookedRequest, l.hookedResponse} {
		l.breaks = l.breaks || deed == fails || deed == aborts
	}
	l.tell("hooks, of every second ask: of the request %q, of the answer %q", l.hookedRequest, l.hookedResponse)
}

func (w *living) hooks() (h mitm.Hooks) {
	if w.hookedRequest != "" {
		h.Request = w.hookRequest
	}
	if w.hookedResponse != "" {
		h.Response = w.hookResponse
	}
	return h
}

func (w *living) hookRequest(r *http.Request) (*http.Response, error) {
	a := askOf(r.URL.Query())
	switch {
	case a.n%2 == 0:
		return nil, nil
	case w.hookedRequest == reads:
		_, err := mitm.RequestBody(r)
		return nil, err
	case w.hookedRequest == answers && a.kind != sendingBack && a.kind != "upgrade":
		return a.answered(), nil
	}
	return nil, hookDoes(w.hookedRequest, r)
}

// hookDoes is what either hook may do.
func hookDoes(deed string, r *http.Request) error {
	switch deed {
	case delays:
		return sleep(r.Context(), 30*ms)
	case fails:
		return errors.New("a hook fails")
	case aborts:
		return http.ErrAbortHandler
	}
	return nil
}

// answered is the answer that the origin would give.
func (a ask) answered() *http.Response {
	body := noise(a.n, a.down)
	resp := &http.Response{Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(a.down)}
	switch {
	case a.chunked:
		resp.ContentLength, resp.Trailer = -1, http.Header{"X-Sum": {fmt.Sprintf("%x", sha256.Sum256(body))}}
	case a.down == 0:
		resp.Body = http.NoBody // else its length is unknown
	}
	return resp
}

func (w *living) hookResponse(resp *http.Response) error {
	a := askOf(resp.Request.URL.Query())
	switch {
	case a.n%2 == 0:
		return nil
	case w.hookedResponse == reads && resp.StatusCode != http.StatusSwitchingProtocols:
		_, err := mitm.ResponseBody(resp)
		return err
	}
	return hookDoes(w.hookedResponse, resp.Request)
}
