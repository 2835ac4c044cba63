package origin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog/h3"
	"example.com/wiretest/origin"
)

// What handlers of this package do over the other protocols they do over this.
func TestAnswersOverHTTP3(t *testing.T) {
	h3.Bubble(t, nil, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.RTT(10*time.Millisecond))
		mux := http.NewServeMux()
		mux.Handle("/hints", origin.EarlyHints(time.Second, hello, "</a>; rel=preload", "</b>; rel=preload"))
		mux.HandleFunc("/echo", origin.Echo)
		mux.Handle("/slow", origin.PerConnection(1, origin.Work(time.Second, hello)))
		mux.Handle("/events", origin.Events(3, time.Second))
		mux.Handle("/cut", origin.Body{Size: 5000, Cut: origin.At(2000)})
		s := origin.New(t, &origin.Config{Net: network.Host("origin.test"), HTTP3: &origin.HTTP3{}, Handler: mux})
		client := &http.Client{Transport: s.HTTP3Transport(network.Host("pc.test"))}

		var hints []string
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			hints = append(hints, fmt.Sprint(code, h["Link"]))
			return nil
		}})
		resp, err := client.Do(must(http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/hints", nil)))
		require.NoError(t, err)
		resp.Body.Close()
		assert.Equal(t, []string{"103 [</a>; rel=preload]", "103 [</b>; rel=preload]"}, hints)

		resp, err = client.Post(s.URL+"/echo", "text/plain", strings.NewReader("question"))
		require.NoError(t, err)
		var echoed origin.Echoed
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&echoed))
		resp.Body.Close() // the decoder need not read as far as its end
		assert.Equal(t, "HTTP/3.0", echoed.Protocol)
		assert.Equal(t, "question", string(echoed.Body))
		assert.Equal(t, "origin.test", echoed.ServerName)
		assert.EqualValues(t, 1, echoed.Connection)
		assert.EqualValues(t, 4, echoed.Stream)
		assert.NotZero(t, echoed.HeaderBytes)

		start := time.Now()
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { get(t, client, s.URL+"/slow") })
		}
		all.Wait()
		assert.InDelta(t, 3.0, time.Since(start).Seconds(), 0.1, "three that are served one after the other, for they share a connection")

		body, _ := get(t, client, s.URL+"/events")
		assert.Equal(t, 3, strings.Count(body, "data: "))

		resp, err = client.Get(s.URL + "/cut")
		if err == nil { // the reset did not overtake the head
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		assert.ErrorContains(t, err, "H3_INTERNAL_ERROR")
		told := s.Log().Requests()
		assert.Equal(t, "reset by server: H3_INTERNAL_ERROR (0x102)", told[len(told)-1].Err)
	})
}

// A field that is about a connection of HTTP/1.1 makes an answer over HTTP/3 malformed
// (RFC 9114, section 4.2), and handlers of event streams often set it: it is left out,
// as net/http does over HTTP/2. What "*" asks is asked of the server (RFC 9110, section
// 7.1).
func TestHandlersWithHTTP1InMind(t *testing.T) {
	taken := map[string]http.HandlerFunc{
		"by nothing": func(w http.ResponseWriter, r *http.Request) {},
		"at the end": func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") },
		"by a flush": func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			io.WriteString(w, "hello")
		},
		"by a controller": func(w http.ResponseWriter, r *http.Request) {
			assert.NoError(t, http.NewResponseController(w).Flush())
			io.WriteString(w, "hello")
		},
		"by a large body": func(w http.ResponseWriter, r *http.Request) {
			io.CopyN(w, origin.Content(1<<20), 1<<20)
		},
		"by a head": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			w.(http.Flusher).Flush()
		},
	}
	h3.Bubble(t, nil, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.RTT(10*time.Millisecond))
		s := origin.New(t, &origin.Config{
			Net: network.Host("origin.test"), HTTP3: &origin.HTTP3{},
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for _, name := range []string{"Connection", "Keep-Alive", "Proxy-Connection", "Upgrade", "Transfer-Encoding"} {
					w.Header().Set(name, "keep-alive")
				}
				w.Header().Set("X-Other", "1")
				taken[r.Header.Get("Taken")](w, r)
			}),
		})
		for _, client := range []http.RoundTripper{s.Transport(network.Host("pc.test")), s.HTTP3Transport(network.Host("pc.test"))} {
			for how := range taken {
				req := must(http.NewRequest(http.MethodOptions, s.URL, nil))
				req.URL.Path = "*"
				req.Header.Set("Taken", how)
				resp, err := client.RoundTrip(req)
				require.NoError(t, err, how)
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				assert.NoError(t, err, how)
				assert.Empty(t, resp.Header.Values("Connection"), how)
				assert.Equal(t, "1", resp.Header.Get("X-Other"), how)
			}
		}
		for _, q := range s.Log().Requests() {
			assert.Equal(t, s.URL, q.URL, q.Protocol)
		}
	})
}

// What a handler says when its client has left, or its origin is closing, nobody has
// had: the ledger has no answer, and the request ended when the stream did.
func TestAnswersToNobodyOverHTTP3(t *testing.T) {
	const gone, late = time.Second, 3 * time.Second
	for name, leave := range map[string]func(context.CancelFunc, *origin.Server){
		"reset by client: H3_REQUEST_CANCELLED (0x10c)":                                    func(cancel context.CancelFunc, _ *origin.Server) { cancel() },
		"connection closed before the answer ended: closed by server: H3_NO_ERROR (0x100)": func(_ context.CancelFunc, s *origin.Server) { s.Close() },
	} {
		h3.Bubble(t, nil, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.Link{})
			s := origin.New(t, &origin.Config{
				Net: network.Host("origin.test"), HTTP3: &origin.HTTP3{},
				Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					time.Sleep(late)
					w.Write([]byte(content(10_000)))
				}),
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			time.AfterFunc(gone, func() { leave(cancel, s) })
			_, err := s.HTTP3Transport(network.Host("pc.test")).RoundTrip(must(http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)))
			assert.Error(t, err)
			time.Sleep(late)
			q := s.Log().Requests()[0]
			assert.Equal(t, name, q.Err)
			assert.Equal(t, gone, q.End.Sub(q.Start).Truncate(gone/10), name)
			assert.Zero(t, q.Status, name)
			assert.Zero(t, q.FirstByte, name)
			assert.Zero(t, q.BodyBytesDown, name)
			assert.Zero(t, q.HeaderBytesDown, name)
		})
	}
}
