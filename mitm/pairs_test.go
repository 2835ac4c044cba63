package mitm_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

func serving(h handler) setting { return setting{origin: origin.Config{Handler: h}} }

func TestGetKeepsTargetAndHost(t *testing.T) {
	eachPair(t, serving(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %s %s", r.Proto, r.Method, r.Host, r.RequestURI)
	}), func(t *testing.T, s *stage) {
		proto := map[string]string{"http/1.1": "HTTP/1.1", "h2": "HTTP/2.0", "h3": "HTTP/3.0"}
		for _, path := range []string{"/", "/a%2Fb?c=d%20e&f", "/?", "/a//b;c=1", "//a/b", "/%7Euser", "/a%22b"} {
			resp, body := s.get(t, path)
			assert.Equal(t, proto[s.down], resp.Proto)
			assert.Equal(t, proto[s.up]+" GET "+strings.TrimPrefix(s.site.URL, "https://")+" "+path, body)
		}
		req := s.request(t, http.MethodOptions, "", nil)
		req.URL.Path = "*"
		assert.True(t, strings.HasSuffix(text(t, s.do(t, req)), " *"))
	})
}

func TestBodiesArriveWhole(t *testing.T) {
	payload := make([]byte, 300_000) // some windows, and no whole number of buffers
	for i := range payload {
		payload[i] = byte(rand.Uint32())
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(payload))
	s := serving(func(w http.ResponseWriter, r *http.Request) {
		hash := sha256.New()
		n, err := io.Copy(hash, r.Body)
		w.Header().Set("Got", fmt.Sprintf("%d of %d: %x %v", n, r.ContentLength, hash.Sum(nil), err))
		if r.URL.Path == "/known" {
			w.Header().Set("Content-Length", fmt.Sprint(len(payload)))
		}
		w.Write(payload)
	})
	eachPair(t, s, func(t *testing.T, s *stage) {
		for path, sent := range map[string]int{"/known": len(payload), "/unknown": -1} {
			body := io.Reader(bytes.NewReader(payload))
			if sent < 0 {
				body = io.MultiReader(body) // a type that hides the length
			}
			resp := s.do(t, s.request(t, http.MethodPost, path, body))
			assert.EqualValues(t, sent, resp.ContentLength, path)
			assert.Equal(t, fmt.Sprintf("%d of %d: %s <nil>", len(payload), sent, sum), resp.Header.Get("Got"), path)
			assert.Equal(t, sum, fmt.Sprintf("%x", sha256.Sum256([]byte(text(t, resp)))), path)
		}
	})
}

func TestFirstByteBeforeTheLast(t *testing.T) {
	eachPair(t, serving(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "6")
		http.NewResponseController(w).Flush()
		line, _ := bufio.NewReader(r.Body).ReadString('\n') // the client sends it when it has the head
		io.WriteString(w, strings.TrimSpace(line))
		http.NewResponseController(w).Flush()
		rest, _ := io.ReadAll(r.Body)
		w.Write(rest)
	}).fullDuplex(), func(t *testing.T, s *stage) {
		r, w := io.Pipe()
		resp := s.do(t, s.request(t, http.MethodPost, "/", r))
		io.WriteString(w, "one\n")
		first := make([]byte, 3)
		_, err := io.ReadFull(resp.Body, first)
		require.NoError(t, err)
		assert.Equal(t, "one", string(first))
		io.WriteString(w, "two")
		w.Close()
		assert.Equal(t, "two", text(t, resp))
	})
}

// fullDuplex is for handlers that answer before they have read the request.
func (s setting) fullDuplex() setting {
	next := s.origin.Handler
	s.origin.Handler = handler(func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).EnableFullDuplex()
		next.ServeHTTP(w, r)
	})
	return s
}

func TestTrailers(t *testing.T) {
	eachPair(t, serving(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Length", "70000") // an h1 leg has to do without it
		w.Header().Set("Trailer", "Declared, Echo")
		if r.URL.Path == "/undeclared" || r.ProtoMajor == 1 {
			w.Header().Del("Content-Length")
		}
		io.WriteString(w, strings.Repeat("x", 70000)) // more than a window of 64 KiB
		w.Header().Set("Declared", "yes")
		w.Header().Set("Echo", r.Trailer.Get("Up"))
		if r.URL.Path == "/undeclared" {
			w.Header().Set(http.TrailerPrefix+"Undeclared", "yes, too")
		}
	}), func(t *testing.T, s *stage) {
		for path, undeclared := range map[string]string{"/": "", "/undeclared": "yes, too"} {
			req := s.request(t, http.MethodPost, path, io.MultiReader(strings.NewReader("body")))
			req.Trailer = http.Header{"Up": {"sent last"}}
			resp := s.do(t, req)
			assert.Len(t, text(t, resp), 70000)
			assert.Equal(t, "yes", resp.Trailer.Get("Declared"), path)
			if s.up != alpn.H3 { // of which http3's server tells its handler nothing
				assert.Equal(t, "sent last", resp.Trailer.Get("Echo"), path)
			}
			assert.Equal(t, undeclared, resp.Trailer.Get("Undeclared"), path)
			assert.NotContains(t, resp.Header, "Declared")
		}
	})
}

func TestTrailersOnly(t *testing.T) {
	eachPair(t, serving(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Grpc-Status", "12")
		w.Header()["Content-Length"] = nil
	}), func(t *testing.T, s *stage) {
		resp, body := s.get(t, "/")
		assert.Equal(t, "12", resp.Header.Get("Grpc-Status"))
		assert.Empty(t, body)
		if s.down == "h2" && s.up == "h2" {
			assert.NotContains(t, resp.Header, "Content-Length")
		}
	})
}

func TestCancelReachesTheOrigin(t *testing.T) {
	gone := func(r *http.Request) error {
		<-r.Context().Done()
		return r.Context().Err()
	}
	for _, when := range []string{"before the answer", "in the answer", "in the request"} {
		t.Run(when, func(t *testing.T) {
			var arrived, ended chan string // of the test that runs
			s := serving(func(w http.ResponseWriter, r *http.Request) {
				arrived <- r.Method
				switch when {
				case "in the answer":
					io.WriteString(w, "begun")
					http.NewResponseController(w).Flush()
				case "in the request":
					_, err := io.Copy(io.Discard, r.Body)
					ended <- fmt.Sprint(err != nil)
					return
				}
				ended <- fmt.Sprint(gone(r) != nil)
			})
			eachPair(t, s, func(t *testing.T, s *stage) {
				arrived, ended = make(chan string, 1), make(chan string, 1)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var body io.Reader
				r, w := io.Pipe()
				if when == "in the request" {
					go io.WriteString(w, "begun")
					body = r
				}
				failed := make(chan error, 1)
				go func() {
					resp, err := s.client.Do(s.request(t, http.MethodPost, "/", body).WithContext(ctx))
					if err == nil {
						_, err = io.ReadAll(resp.Body)
						resp.Body.Close()
					}
					failed <- err
				}()
				<-arrived
				cancel()
				assert.Equal(t, "true", <-ended)
				w.Close() // net/http's h1 client waits for the body that it reads
				assert.ErrorIs(t, <-failed, context.Canceled)
			})
		})
	}
}

func TestLargeHeaders(t *testing.T) {
	large := strings.Repeat("0123456789", 4_000) // some frames of HTTP/2
	eachPair(t, serving(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Large", r.Header.Get("Large"))
		for i := range 100 {
			w.Header().Add("Many", fmt.Sprint(i))
		}
	}), func(t *testing.T, s *stage) {
		resp := s.do(t, s.request(t, http.MethodGet, "/", nil, "Large", large))
		assert.True(t, large == resp.Header.Get("Large"), "40 kB header came back as %d bytes", len(resp.Header.Get("Large")))
		assert.Len(t, resp.Header["Many"], 100)
	})
}

func TestCookies(t *testing.T) {
	eachPair(t, serving(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Set-Cookie"] = []string{"a=1", "b=2; Path=/"}
		fmt.Fprintf(w, "%q", r.Header["Cookie"])
	}), func(t *testing.T, s *stage) {
		// Over h2 the client sends it in three fields (RFC 9113, section 8.2.3).
		resp := s.do(t, s.request(t, http.MethodGet, "/", nil, "Cookie", "x=1; y=2; z=3"))
		assert.Equal(t, `["x=1; y=2; z=3"]`, text(t, resp))
		assert.Equal(t, []string{"a=1", "b=2; Path=/"}, resp.Header["Set-Cookie"])
	})
}

func TestAnswersWithoutBody(t *testing.T) {
	eachPair(t, serving(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/204":
			w.WriteHeader(http.StatusNoContent)
		case "/304":
			w.Header().Set("Etag", `"v1"`)
			w.WriteHeader(http.StatusNotModified)
		case "/known":
			w.Header().Set("Content-Length", "12345")
		case "/empty":
		default:
			io.WriteString(w, "a body, of which HEAD shows nothing")
		}
	}), func(t *testing.T, s *stage) {
		for range 2 { // a stray chunk would show in the next answer
			for _, c := range []struct {
				method, path string
				status       int
				length       int64
			}{
				{"GET", "/204", 204, 0},
				{"GET", "/304", 304, 0},
				{"HEAD", "/204", 204, 0},
				{"HEAD", "/known", 200, 12345},
				{"HEAD", "/", 200, -1},
				{"GET", "/empty", 200, 0},
				{"POST", "/204", 204, 0},
			} {
				resp := s.do(t, s.request(t, c.method, c.path, nil))
				assert.Equal(t, c.status, resp.StatusCode, "%s %s", c.method, c.path)
				assert.Empty(t, text(t, resp), "%s %s", c.method, c.path)
				assert.Empty(t, resp.TransferEncoding, "%s %s", c.method, c.path)
				if c.path == "/known" {
					assert.Equal(t, c.length, resp.ContentLength, "%s %s", c.method, c.path)
				}
			}
		}
		requireInTurn(t, s.proxy.Log(), s.down, mitm.Downstream)
		requireInTurn(t, s.proxy.Log(), s.up, mitm.Upstream)
	})
}

func TestEarlyHints(t *testing.T) {
	eachPair(t, serving(func(w http.ResponseWriter, r *http.Request) {
		for i := range 3 {
			w.Header().Set("Link", fmt.Sprintf("</%d.css>", i))
			if r.ProtoMajor < 3 { // there it makes the answer a malformed one
				w.Header().Set("Keep-Alive", "timeout=5")
			}
			w.WriteHeader(http.StatusEarlyHints)
		}
		w.Header().Del("Link")
		io.WriteString(w, "final")
	}), func(t *testing.T, s *stage) {
		var hints []string
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
			Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
				hints = append(hints, fmt.Sprint(code, h))
				return nil
			},
		})
		resp := s.do(t, s.request(t, http.MethodGet, "/", nil).WithContext(ctx))
		assert.Equal(t, "final", text(t, resp))
		assert.NotContains(t, resp.Header, "Link")
		assert.Equal(t, []string{"103 map[Link:[</0.css>]]", "103 map[Link:[</1.css>]]", "103 map[Link:[</2.css>]]"}, hints)
	})
}

func TestExpectContinueIsTheOriginsToAnswer(t *testing.T) {
	eachPair(t, serving(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refuse" {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		io.Copy(w, r.Body)
	}), func(t *testing.T, s *stage) {
		s.tr.ExpectContinueTimeout = 1 << 40 // for ever, so that only an answer helps
		if s.down == "h2" {
			s.tr.ExpectContinueTimeout = 0 // net/http's h2 client waits for a 100 that a server need not send
		}
		body := func() io.Reader { return io.MultiReader(strings.NewReader("body")) }
		resp := s.do(t, s.request(t, http.MethodPut, "/", body(), "Expect", "100-continue"))
		assert.Equal(t, "body", text(t, resp))
		if s.down == "h2" {
			return
		}
		resp = s.do(t, s.request(t, http.MethodPut, "/refuse", body(), "Expect", "100-continue"))
		assert.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
		for _, q := range s.proxy.Log().Requests(netlog.Status(http.StatusRequestEntityTooLarge)) {
			assert.Zero(t, q.BodyBytesUp, "%s leg: a body that was refused", q.Leg)
		}
	})
}

// An origin may answer before it has the request, and then does not want the
// rest. The client's h2 connection goes on; on h1 a new one does.
func TestAnswerBeforeTheRequestEnds(t *testing.T) {
	eachPair(t, serving(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "4")
		io.WriteString(w, "done")
	}).fullDuplex(), func(t *testing.T, s *stage) {
		for range 2 {
			body, more := io.Pipe()
			go io.WriteString(more, "begun")
			resp := s.do(t, s.request(t, http.MethodPost, "/", body))
			assert.Equal(t, "done", text(t, resp))
			more.Close()
		}
		if s.down == "h2" {
			netlog.RequireConnections(t, s.proxy.Log(), 1, "h2", mitm.Downstream, netlog.Used())
		}
	})
}

func TestHTTP10Client(t *testing.T) {
	for _, up := range []string{"http/1.1", "h2"} {
		s := serving(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "length ")
			http.NewResponseController(w).Flush()
			io.WriteString(w, "unknown")
		})
		s.up = up
		eachWorld(t, s, func(t *testing.T, s *stage) {
			resp := s.rawRequest(t, "GET / HTTP/1.0\r\n\r\n")
			assert.Empty(t, resp.TransferEncoding)
			assert.Equal(t, "length unknown", text(t, resp))
		})
	}
}

func TestConnectInsideIsRefused(t *testing.T) {
	s := serving(hello)
	s.down = "h2"
	eachWorld(t, s, func(t *testing.T, s *stage) {
		s.get(t, "/")
		resp, err := s.tr.RoundTrip(s.request(t, http.MethodConnect, "", nil))
		require.NoError(t, err)
		assert.Equal(t, http.StatusNotImplemented, resp.StatusCode)
		assert.Contains(t, text(t, resp), "CONNECT must be the first request on its connection")
		s.get(t, "/")
		netlog.RequireConnections(t, s.proxy.Log(), 1, "h2", mitm.Downstream, netlog.Used())
	})
}
