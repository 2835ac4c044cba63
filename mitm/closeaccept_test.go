package mitm_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/mitm"
)

// late is a Net whose listener accepts its one connection when it has been closed.
type late struct {
	mitm.Net
	conn net.Conn
}

func (n *late) Listen(context.Context, string, string) (net.Listener, error) {
	return &lateListener{net: n, closed: make(chan struct{})}, nil
}

type lateListener struct {
	net    *late
	given  bool
	closed chan struct{}
	once   sync.Once
}

func (l *lateListener) Accept() (net.Conn, error) {
	<-l.closed
	if l.given {
		return nil, net.ErrClosed
	}
	l.given = true
	return l.net.conn, nil
}

func (l *lateListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *lateListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// A client that comes as Close begins ends by it, as those do that were there.
func TestAcceptedWhileClosing(t *testing.T) {
	conn, client := net.Pipe()
	defer client.Close()
	proxy := mitm.New(t, &mitm.Config{Net: &late{conn: conn}})
	require.NoError(t, proxy.Close())
	all := proxy.Log().Connections()
	require.Len(t, all, 1)
	assert.Equal(t, "proxy closed", all[0].CloseReason)
	_, err := client.Read(make([]byte, 1))
	assert.ErrorIs(t, err, io.EOF)
}

// overtaken is a Net of loopback, and its listener. Where the proxy asks for the
// address of a connection, as it does for each tunnel, it is closed first once that
// is armed.
type overtaken struct {
	net.ListenConfig
	net.Dialer
	net.Listener
	armed   atomic.Bool
	close   func()
	closing chan struct{} // is closed when the proxy closes the listener
	once    sync.Once
}

func (o *overtaken) Listen(ctx context.Context, network, _ string) (l net.Listener, err error) {
	o.Listener, err = o.ListenConfig.Listen(ctx, network, "127.0.0.1:0")
	return o, err
}

func (o *overtaken) Accept() (net.Conn, error) {
	conn, err := o.Listener.Accept()
	return &overtakenConn{conn, o}, err
}

func (o *overtaken) Close() error {
	o.once.Do(func() { close(o.closing) })
	return o.Listener.Close()
}

type overtakenConn struct {
	net.Conn
	by *overtaken
}

func (c *overtakenConn) LocalAddr() net.Addr {
	if c.by.armed.CompareAndSwap(true, false) {
		go c.by.close()
		<-c.by.closing
	}
	return c.Conn.LocalAddr()
}

// The same within TLS to the proxy, for a tunnel that is asked for as Close begins.
func TestTunnelWhileClosing(t *testing.T) {
	for _, proto := range []string{alpn.HTTP11, alpn.H2} {
		t.Run(fmt.Sprintf("%.2s", proto), func(t *testing.T) {
			network := &overtaken{closing: make(chan struct{})}
			proxy := mitm.New(t, &mitm.Config{Net: network, Mode: mitm.ExplicitTLS})
			closed := make(chan error, 1)
			network.close = func() { closed <- proxy.Close() }
			conn, err := net.Dial("tcp", proxy.Addr)
			require.NoError(t, err)
			defer conn.Close()
			secured := tls.Client(conn, alpn.Only(proto).Client(&tls.Config{RootCAs: proxy.CA().Pool(), ServerName: "127.0.0.1"}))
			require.NoError(t, secured.Handshake())
			if proto == alpn.H2 {
				c := newRawH2(t, secured, nil)
				require.NoError(t, c.greet())
				var wg sync.WaitGroup
				wg.Go(c.run)
				defer wg.Wait()
				defer conn.Close()
				s := c.call(t)
				s.head("CONNECT x.test:0", unknown)
				s.wantHead("400") // so the proxy has begun with HTTP/2
				network.armed.Store(true)
				c.call(t).head("CONNECT x.test:443", unknown)
			} else {
				network.armed.Store(true)
				io.WriteString(secured, "CONNECT x.test:443 HTTP/1.1\r\n\r\n")
			}
			require.NoError(t, <-closed)
			all := proxy.Log().Connections(mitm.Downstream)
			require.Len(t, all, 2)
			for _, c := range all {
				assert.Equal(t, "proxy closed", c.CloseReason, "connection %d, %s", c.ID, c.OpenReason)
			}
		})
	}
}
