package mitm_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"example.com/wiretest/netlog"
	"example.com/wiretest/origin/pageload"
)

// sendingBack is the kind of an ask whose answer is what was sent, as it comes.
const sendingBack = "echo"

// noise is what a body has in it. No two have the same.
func noise(n, size int) []byte {
	p := make([]byte, size)
	rand.NewChaCha8([32]byte{byte(n), byte(n >> 8)}).Read(p)
	return p
}

const upload = 1 << 12 // added to the number of an ask is that of its request's body

// query has an ask for the origin to read.
func (a ask) query() string {
	return url.Values{"n": {strconv.Itoa(a.n)}, "kind": {a.kind}, "up": {strconv.Itoa(a.up)}, "down": {strconv.Itoa(a.down)},
		"piece": {strconv.Itoa(a.piece)}, "every": {a.every.String()}, "wait": {a.wait.String()}, "chunked": {strconv.FormatBool(a.chunked)}}.Encode()
}

func askOf(q url.Values) (a ask) {
	number := func(name string) int { n, _ := strconv.Atoi(q.Get(name)); return n }
	a.n, a.up, a.down, a.piece = number("n"), number("up"), number("down"), number("piece")
	a.every, _ = time.ParseDuration(q.Get("every"))
	a.wait, _ = time.ParseDuration(q.Get("wait"))
	a.kind, a.chunked = q.Get("kind"), q.Get("chunked") == "true"
	return a
}

// pieces is a body that comes a piece at a time.
type pieces struct {
	ask
	ctx  context.Context
	left []byte
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.left[:min(p.piece, len(p.left))])
	p.left = p.left[n:]
	return n, sleep(p.ctx, p.every)
}

// sleep makes no timer for nothing: under -race channel timers that have expired at
// once can crash Go 1.26 in a bubble.
func sleep(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// serve is the origin.
func (w *living) serve(rw http.ResponseWriter, r *http.Request) {
	a := askOf(r.URL.Query())
	rc := http.NewResponseController(rw)
	rc.EnableFullDuplex() // has no effect on HTTP/2, where it is not needed
	switch a.kind {
	case "upgrade":
		w.sendBack(rw, r)
		return
	case sendingBack:
		rc.Flush() // the head, before there is a body
		if _, err := io.Copy(flushing{rw, rc}, r.Body); err != nil {
			panic(http.ErrAbortHandler)
		}
		return
	}
	got, err := io.ReadAll(r.Body)
	if err == nil && !bytes.Equal(got, noise(a.n+upload, a.up)) {
		w.t.Errorf("ask %d: the origin is told that %d bytes are all, and they are not the %d that were sent", a.n, len(got), a.up)
	}
	if err != nil || sleep(r.Context(), a.wait) != nil {
		panic(http.ErrAbortHandler)
	}
	w.answer(rw, r, a)
}

func (w *living) answer(rw http.ResponseWriter, r *http.Request, a ask) {
	body := noise(a.n, a.down)
	sum := fmt.Sprintf("%x", sha256.Sum256(body))
	if a.chunked {
		rw.Header().Set("Trailer", "X-Sum")
	} else {
		rw.Header().Set("Content-Length", strconv.Itoa(a.down))
	}
	rw.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	if _, err := io.Copy(flushing{rw, http.NewResponseController(rw)}, &pieces{a, r.Context(), body}); err != nil {
		panic(http.ErrAbortHandler)
	}
	if a.chunked {
		rw.Header().Set("X-Sum", sum)
	}
}

// flushing flushes what it writes.
type flushing struct {
	io.Writer
	rc *http.ResponseController
}

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.Writer.Write(p)
	return n, errors.Join(err, f.rc.Flush())
}

// sendBack switches protocols to one that sends everything back.
func (w *living) sendBack(rw http.ResponseWriter, r *http.Request) {
	hijacker, ok := rw.(http.Hijacker)
	if !ok || r.ProtoMajor != 1 {
		http.Error(rw, "no upgrade here", http.StatusUpgradeRequired)
		return
	}
	conn, buffered, err := hijacker.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer conn.Close()
	io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	io.Copy(conn, buffered)
}

// ask asks, and checks what it gets.
func (w *living) ask(a ask) {
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	if a.leaves > 0 {
		defer time.AfterFunc(a.leaves, cancel).Stop()
	}
	var err error
	switch {
	case a.kind == "load":
		err = w.load(ctx, a)
	case a.kind == "tunnel":
		err = w.tunnel(ctx, a)
	default:
		err = w.request(ctx, a)
	}
	switch {
	case errors.Is(err, errNotWhole):
		w.t.Errorf("ask %d, %s: %v", a.n, a.kind, err)
	case err != nil && w.limits && strings.Contains(err.Error(), "PROTOCOL_ERROR"):
		// net/http may acknowledge a limit between opening a stream and sending its
		// head, which a server takes for a breach.
	case err != nil && !w.breaks && ctx.Err() == nil:
		w.t.Errorf("ask %d, %s, fails for no reason: %v", a.n, a.kind, err)
	}
}

func (w *living) request(ctx context.Context, a ask) error {
	req, err := a.request(ctx, w.site.URL)
	if err != nil {
		return err
	}
	resp, err := w.clients[a.n%clients].Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		stream := resp.Body.(io.ReadWriteCloser)
		defer context.AfterFunc(ctx, func() { stream.Close() })()
		return a.converse(ctx, stream)
	}
	got, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, got)
	}
	if err != nil {
		return err
	}
	return a.whole(resp, got)
}

func (a ask) request(ctx context.Context, site string) (*http.Request, error) {
	method := a.kind
	var body io.Reader
	switch a.kind {
	case "GET", "HEAD":
	case "upgrade":
		method = http.MethodGet
	case "expect", sendingBack:
		method = http.MethodPost
		fallthrough
	default:
		body = &pieces{a, ctx, noise(a.n+upload, a.up)}
	}
	req, err := http.NewRequestWithContext(ctx, method, site+"/?"+a.query(), body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(&pieces{a, ctx, noise(a.n+upload, a.up)}), nil }
		if !a.chunked {
			req.ContentLength = int64(a.up)
		}
	}
	switch a.kind {
	case "expect":
		req.Header.Set("Expect", "100-continue")
	case "upgrade":
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "websocket")
	}
	return req, nil
}

// whole wants an answer that says that it is whole to be it.
func (a ask) whole(resp *http.Response, got []byte) error {
	want := noise(a.n, a.down)
	switch a.kind {
	case "HEAD":
		want = nil
	case sendingBack:
		want = noise(a.n+upload, a.up)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(want))
	switch {
	case !bytes.Equal(got, want):
		return fmt.Errorf("%w: %d bytes of %d", errNotWhole, len(got), len(want))
	case a.kind == "HEAD" && !a.chunked && resp.ContentLength != int64(a.down):
		return fmt.Errorf("%w: length %d of %d", errNotWhole, resp.ContentLength, a.down)
	case a.chunked && a.kind != "HEAD" && a.kind != sendingBack && resp.Trailer.Get("X-Sum") != sum:
		return fmt.Errorf("%w: trailer %v", errNotWhole, resp.Trailer)
	}
	return nil
}

// converse writes and wants everything back.
func (a ask) converse(ctx context.Context, stream io.ReadWriter) error {
	want := noise(a.n+upload, a.up)
	go io.Copy(stream, &pieces{a, ctx, want}) // ends with ctx, and with stream
	got := make([]byte, a.up)
	n, err := io.ReadFull(stream, got)
	if !bytes.Equal(got[:n], want[:n]) {
		return fmt.Errorf("%w: the first %d bytes", errNotWhole, n)
	}
	return err
}

func (w *living) tunnel(ctx context.Context, a ask) error {
	conn, err := w.proxy.Tunnel(w.network.Host("pc.test"))(ctx, "tcp", w.echo)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	return a.converse(ctx, conn)
}

// load loads a few at once, as a browser.
func (w *living) load(ctx context.Context, a ask) error {
	tr := w.transport()
	if strings.HasPrefix(w.proxy.URL, "socks5:") {
		tr.Proxy, tr.DialContext = nil, w.proxy.Tunnel(w.network.Host("pc.test")) // a load knows no proxy of SOCKS
	}
	cfg := &pageload.Config{Transport: tr}
	for i := range 1 + a.up%4 {
		one := ask{n: 100*(a.n+1) + i, kind: "GET", down: a.down / (i + 1), piece: a.piece, every: a.every, wait: a.wait, chunked: a.chunked}
		cfg.URLs = append(cfg.URLs, w.site.URL+"/?"+one.query())
	}
	result, err := pageload.Load(ctx, cfg)
	if result == nil {
		return err
	}
	w.requireEnded("a load", result.Log)
	w.requireServed(result.Log)
	for _, q := range result.Log.Requests() {
		if whole := numbered(q).down; q.Status == http.StatusOK && q.Err == "" && q.BodyBytesDown != int64(whole) {
			return fmt.Errorf("%w: %d bytes of %d", errNotWhole, q.BodyBytesDown, whole)
		}
	}
	return err
}

func numbered(q netlog.Request) ask {
	u, _ := url.Parse(q.URL)
	return askOf(u.Query())
}
