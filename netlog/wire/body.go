package wire

import (
	"io"
	"net/http"
	"sync/atomic"
)

// exchangeBody is the body of an http/1.1 answer. With its end, or when it is
// closed, it ends the connection's exchange before the caller learns of it.
type exchangeBody struct {
	io.ReadCloser
	client *ClientConn
	ended  atomic.Bool
}

// watchBody ends the exchange now, or with the body of resp. The body of a 101
// is the connection itself, whose exchange never ends.
func (c *ClientConn) watchBody(resp *http.Response) {
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
		c.finishNow()
	case resp.Body == http.NoBody:
		c.endTurn()
	default:
		resp.Body = &exchangeBody{ReadCloser: resp.Body, client: c}
	}
}

func (b *exchangeBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.end()
	}
	return n, err
}

func (b *exchangeBody) Close() error {
	err := b.ReadCloser.Close()
	b.end()
	return err
}

func (b *exchangeBody) end() {
	if b.ended.CompareAndSwap(false, true) {
		b.client.endTurn()
	}
}
