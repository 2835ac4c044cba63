package mitm_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/origin"
)

func TestManyProxiesLeaveNothing(t *testing.T) {
	n := 200
	if raceDetector {
		n = 30
	}
	run := func() {
		site, err := origin.Start(&origin.Config{Handler: hello})
		if !assert.NoError(t, err) {
			return
		}
		defer site.Close()
		proxy, err := mitm.Start(&mitm.Config{RootCAs: site.CA().Pool()})
		if !assert.NoError(t, err) {
			return
		}
		resp, err := proxy.Client().Get(site.URL)
		if assert.NoError(t, err) {
			text(t, resp)
		}
		assert.NoError(t, proxy.Close())
	}
	run() // so that what the runtime opens once is open
	before := descriptors(t)
	var wg sync.WaitGroup
	gate := make(chan struct{}, 16)
	for range n {
		wg.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			run()
		})
	}
	wg.Wait()
	if left := leftovers(); left != "" {
		t.Errorf("goroutines left:\n%s", left)
	}
	after := descriptors(t)
	for range 1000 {
		if len(after) <= len(before) {
			return
		}
		time.Sleep(10 * time.Millisecond) // the clients' ends
		after = descriptors(t)
	}
	t.Errorf("%d descriptors left of %d proxies:\n%s", len(after)-len(before), n, strings.Join(after, "\n"))
}

func descriptors(t *testing.T) (open []string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return nil
	}
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(target, "socket:") {
			open = append(open, target)
		}
	}
	return open
}

// inFlight are things that would last for ever, each told to a channel once it
// is under way.
func inFlight() map[string]func(t *testing.T, s *stage, begun chan<- struct{}) {
	send := func(raw string) func(*testing.T, *stage, chan<- struct{}) {
		return func(t *testing.T, s *stage, begun chan<- struct{}) {
			conn := s.toProxy(t)
			io.WriteString(conn, replaceAddr(raw, s.site.Addr))
			if strings.HasPrefix(raw, "CONNECT") && strings.Contains(raw, "\r\n\r\n") {
				conn.Read(make([]byte, 1))
			}
			close(begun)
			io.Copy(io.Discard, conn)
		}
	}
	ask := func(method, path string) func(*testing.T, *stage, chan<- struct{}) {
		return func(t *testing.T, s *stage, begun chan<- struct{}) {
			var body io.Reader
			if method == http.MethodPost {
				body = s.stalled
			}
			resp, err := s.client.Do(s.request(t, method, path, body))
			if err == nil {
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}
	}
	return map[string]func(*testing.T, *stage, chan<- struct{}){
		"connection":       send(""),
		"half a CONNECT":   send("CONNECT ADDR HT"),
		"idle in CONNECT":  send("CONNECT ADDR HTTP/1.1\r\n\r\n"),
		"half a hello":     send("CONNECT ADDR HTTP/1.1\r\n\r\n\x16\x03\x01\x02\x00\x01"),
		"tunnel":           send("CONNECT tunnel.test:1 HTTP/1.1\r\n\r\n"),
		"no answer":        ask("GET", "/wait"),
		"stalled answer":   ask("GET", "/begin"),
		"stalled upload":   ask("POST", "/upload"),
		"endless download": ask("GET", "/endless"),
	}
}

func TestCloseEndsWhatIsInFlight(t *testing.T) {
	for name, begin := range inFlight() {
		t.Run(name, func(t *testing.T) {
			var begun chan struct{}
			s := setting{}
			s.origin.Handler = handler(func(w http.ResponseWriter, r *http.Request) {
				once := sync.OnceFunc(func() { close(begun) })
				switch r.URL.Path {
				case "/begin":
					io.WriteString(w, "begun")
					http.NewResponseController(w).Flush()
				case "/endless":
					for {
						if _, err := w.Write(make([]byte, 1000)); err != nil {
							return
						}
						once()
					}
				}
				once()
				<-r.Context().Done()
			})
			s.proxy.Passthrough = []string{"tunnel.test"}
			eachPair(t, s, func(t *testing.T, s *stage) {
				begun = make(chan struct{})
				body, more := io.Pipe()
				s.stalled = body
				if name == "tunnel" {
					l, err := s.network.Host("tunnel.test").Listen(t.Context(), "tcp", ":1")
					if err != nil {
						t.Skip(err)
					}
					defer l.Close()
				}
				var wg sync.WaitGroup
				wg.Go(func() { begin(t, s, begun) })
				<-begun
				start := time.Now()
				require.NoError(t, s.proxy.Close())
				if took := time.Since(start); took > 2*time.Second && inVirtualTime(t) {
					t.Errorf("Close took %v", took)
				}
				s.tr.CloseIdleConnections()
				require.NoError(t, s.site.Close())
				more.Close() // net/http's client waits for the body that it reads
				wg.Wait()
				for _, c := range s.proxy.Log().Connections() {
					assert.NotEmpty(t, c.CloseReason, "%s leg", c.Leg)
				}
				require.NoError(t, s.proxy.Close(), "a second time")
			})
		})
	}
}

// An origin that does not answer at all: the dial and the handshake hang.
func TestCloseEndsDials(t *testing.T) {
	for _, mirror := range []bool{false, true} {
		t.Run(fmt.Sprint("mirror ", mirror), func(t *testing.T) {
			linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
				reached := make(chan struct{}, 1)
				addr := accepting(t, network.Host("origin.test"), func(conn net.Conn) {
					reached <- struct{}{}
					io.Copy(io.Discard, conn)
				})
				proxy := mitm.New(t, &mitm.Config{Net: network.Host("proxy.test"), Downstream: mitm.Leg{Mirror: mirror}})
				client := &http.Client{Transport: proxy.Transport(network.Host("pc.test"))}
				failed := make(chan error, 1)
				go func() {
					resp, err := client.Get("https://" + addr)
					if err == nil {
						resp.Body.Close()
					}
					failed <- err
				}()
				<-reached
				require.NoError(t, proxy.Close())
				<-failed
			})
		})
	}
}

func TestAfterClose(t *testing.T) {
	eachWorld(t, serving(hello), func(t *testing.T, s *stage) {
		s.get(t, "/")
		require.NoError(t, s.proxy.Close())
		_, err := s.client.Get(s.site.URL)
		assert.Error(t, err)
		_, err = s.network.Host("pc.test").DialContext(t.Context(), "tcp", strings.TrimPrefix(s.proxy.URL, "http://"))
		assert.Error(t, err)
		for _, c := range s.proxy.Log().Connections() {
			assert.False(t, c.Closed.IsZero())
		}
	})
}

// A network that is closed before its proxies closes what they have.
func TestCloseAfterTheNetwork(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		st := setUp(t, network, serving(hello))
		st.get(t, "/")
		require.NoError(t, network.Close())
		require.NoError(t, st.proxy.Close())
	})
}

// What does not end in spite of all is named, after five seconds.
func TestCloseNamesWhatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.Link{})
		release := make(chan struct{})
		inside := make(chan struct{})
		proxy, err := mitm.Start(&mitm.Config{
			Net: network.Host("proxy.test"),
			Downstream: mitm.Leg{TLS: &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
				close(inside)
				<-release
				return nil, errors.New("too late")
			}}},
		})
		require.NoError(t, err)
		client := &http.Client{Transport: proxy.Transport(network.Host("pc.test"))}
		go client.Get("https://origin.test/")
		<-inside
		start := time.Now()
		err = proxy.Close()
		assert.Equal(t, 5*time.Second, time.Since(start))
		assert.ErrorContains(t, err, "mitm: close: still running: connection 1 from pc.test:")
		assert.ErrorContains(t, err, " to origin.test:443 (5.0s)")
		assert.Equal(t, err, proxy.Close())
		close(release)
	})
}
