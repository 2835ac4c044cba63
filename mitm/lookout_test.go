package mitm_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
)

// hanging is a Net whose dials hang until their context ends.
type hanging struct {
	mitm.Net
	begun, ended chan struct{}
}

func (h *hanging) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	close(h.begun)
	<-ctx.Done()
	close(h.ended)
	return nil, context.Cause(ctx)
}

// A client that leaves while its origin is dialled ends the dial.
func TestClientThatLeavesEndsItsDial(t *testing.T) {
	for name, cfg := range map[string]mitm.Config{
		"tunnel":  {Passthrough: []string{"origin.test"}},
		"mirror":  {Downstream: mitm.Leg{Mirror: true}},
		"request": {},
	} {
		for way, leave := range map[string]func(net.Conn){"by closing": func(c net.Conn) { c.Close() }, "by a reset": resetConn} {
			t.Run(name+" "+way, func(t *testing.T) {
				linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
					h := &hanging{network.Host("proxy.test"), make(chan struct{}), make(chan struct{})}
					cfg := cfg
					cfg.Net = h
					proxy := mitm.New(t, &cfg)
					conn, err := network.Host("pc.test").DialContext(t.Context(), "tcp", proxy.URL[len("http://"):])
					require.NoError(t, err)
					defer conn.Close()
					go begin(conn, proxy, name)
					<-h.begun
					leave(conn)
					select {
					case <-h.ended:
					case <-time.After(patience):
						t.Fatal("the dial goes on")
					}
					for _, leg := range []netlog.Leg{mitm.Downstream, mitm.Upstream} {
						synctestSettle(t, func() bool { return proxy.Log().Connections(leg)[0].CloseReason != "" })
					}
					assert.Contains(t, proxy.Log().Connections(mitm.Upstream)[0].CloseReason, "dial origin.test:443: the client has left")
				})
			})
		}
	}
}

// begin does what leads to a dial, and what nobody answers.
func begin(conn net.Conn, proxy *mitm.Proxy, what string) {
	io.WriteString(conn, "CONNECT origin.test:443 HTTP/1.1\r\n\r\n")
	if what == "tunnel" {
		return
	}
	io.ReadFull(conn, make([]byte, len("HTTP/1.1 200 OK\r\n\r\n")))
	cfg := proxy.CA().ClientTLS()
	cfg.ServerName = "origin.test"
	secured := tls.Client(conn, cfg)
	if secured.Handshake() == nil {
		io.WriteString(secured, "GET / HTTP/1.1\r\nHost: origin.test\r\n\r\n")
	}
}

// A client may send before it has heard of the origin, and even end its side:
// all of that arrives.
func TestTunnelledBytesThatAreEarly(t *testing.T) {
	for name, early := range map[string]string{"nothing": "", "some": "early", "more than is looked at": string(make([]byte, 20_000))} {
		t.Run(name, func(t *testing.T) {
			linkdelay.EachWorld(t, linkdelay.RTT(10*time.Millisecond), func(t *testing.T, network *linkdelay.Network) {
				addr := accepting(t, network.Host("origin.test"), func(conn net.Conn) { io.Copy(conn, conn) })
				proxy := mitm.New(t, &mitm.Config{Net: network.Host("proxy.test"), Passthrough: []string{"origin.test"}})
				conn, err := network.Host("pc.test").DialContext(t.Context(), "tcp", proxy.URL[len("http://"):])
				require.NoError(t, err)
				defer conn.Close()
				_, err = io.WriteString(conn, "CONNECT "+addr+" HTTP/1.1\r\n\r\n"+early)
				require.NoError(t, err)
				if early == "" {
					io.ReadFull(conn, make([]byte, len("HTTP/1.1 200 OK\r\n\r\n")))
				}
				conn.(interface{ CloseWrite() error }).CloseWrite()
				answer, err := io.ReadAll(conn)
				require.NoError(t, err)
				if early != "" {
					answer = answer[len("HTTP/1.1 200 OK\r\n\r\n"):]
				}
				assert.Equal(t, len(early), len(answer))
			})
		})
	}
}
