package wire_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

func TestResetWithACode(t *testing.T) {
	gone := make(chan error, 2)
	handler := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/reset":
			if err := wire.StreamOf(r).Reset(http2.ErrCodeEnhanceYourCalm); err != nil {
				panic(err)
			}
			<-r.Context().Done()
			io.WriteString(w, "too late")
			gone <- wire.StreamOf(r).Reset(http2.ErrCodeNo)
		default:
			hello(w, r)
		}
	}
	eachWorld(t, func(t *testing.T, w *world) {
		p := (&pair{t: t, world: w, spoken: spoken{"h2c", "h2", false}}).start(handler)
		c := p.strictClient()
		c.asks(1, "POST", "/reset", false)
		require.Equal(t, http2.ErrCodeEnhanceYourCalm, c.wasReset(1))
		require.EqualError(t, <-gone, "wire: control: Reset: the stream is over")
		c.data(1, false, "on its way")
		c.heads(1, true, "late", "trailer")
		c.asks(3, "GET", "/", true)
		require.Equal(t, "hello", string(c.over(3).body))
		require.Equal(t, "RST_STREAM ENHANCE_YOUR_CALM sent by server", p.requests()[0].Err)
	})
}

func TestResetAs(t *testing.T) {
	bent(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "part")
		http.NewResponseController(w).Flush()
		wire.StreamOf(r).ResetAs(http2.ErrCodeConnect)
		panic(http.ErrAbortHandler)
	}, func(t *testing.T, p *pair, c *strict) {
		c.asks(1, "GET", "/", true)
		st := c.over(1)
		require.Equal(t, http2.ErrCodeConnect, st.code)
		require.Equal(t, "part", string(st.body))
		require.Equal(t, "RST_STREAM CONNECT_ERROR sent by server", p.requests()[0].Err)
	})
}

func TestOnReset(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		codes, begun := make(chan http2.ErrCode, 2), make(chan struct{})
		p := (&pair{t: t, world: w, spoken: spoken{"h2c", "h2", false}}).start(func(w http.ResponseWriter, r *http.Request) {
			s := wire.StreamOf(r)
			_, early := s.PeerReset()
			s.OnReset(func(code http2.ErrCode) {
				if !early && r.Context().Err() == nil {
					codes <- code
				}
			})
			close(begun)
			<-r.Context().Done()
			s.OnReset(func(code http2.ErrCode) { codes <- code })
		})
		c := p.strictClient()
		c.asks(1, "GET", "/", true) // the body has ended
		<-begun
		c.resets(1, http2.ErrCodeInadequateSecurity)
		require.Equal(t, http2.ErrCodeInadequateSecurity, <-codes)
		require.Equal(t, http2.ErrCodeInadequateSecurity, <-codes)
	})
}

func TestClientResetsAs(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		var log netlog.Log
		s, c := newStrictServer(t, w, &log)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, "GET", "http://origin.test/", nil)
		require.NoError(t, err)
		_, err = c.RoundTrip(req, func(rec *netlog.RequestRecord) {
			require.NoError(t, c.Control().StreamOf(rec).ResetAs(http2.ErrCodeHTTP11Required))
			cancel()
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, http2.ErrCodeHTTP11Required, s.wasReset(1))
	})
}

func TestClientSeesCodes(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		var log netlog.Log
		s, c := newStrictServer(t, w, &log)
		codes := make(chan http2.ErrCode, 1)
		req, _ := http.NewRequest("GET", "http://origin.test/", nil)
		go func() {
			s.got("HEADERS 1  END")
			s.resets(1, http2.ErrCodeEnhanceYourCalm)
		}()
		_, err := c.RoundTrip(req, func(rec *netlog.RequestRecord) {
			c.Control().StreamOf(rec).OnReset(func(code http2.ErrCode) { codes <- code })
		})
		require.Error(t, err)
		require.Equal(t, http2.ErrCodeEnhanceYourCalm, <-codes)
	})
}

func TestClientReset(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		var log netlog.Log
		s, c := newStrictServer(t, w, &log)
		req, _ := http.NewRequest("POST", "http://origin.test/", io.MultiReader(neverEnds{}))
		var stream *wire.Stream
		go func() {
			s.got("HEADERS 1 ")
			s.heads(1, false, ":status", "200", "x", "y")
		}()
		resp, err := c.RoundTrip(req, func(rec *netlog.RequestRecord) { stream = c.Control().StreamOf(rec) })
		require.NoError(t, err)
		require.NoError(t, stream.Reset(http2.ErrCodeSettingsTimeout))
		_, err = io.ReadAll(resp.Body)
		require.ErrorContains(t, err, "CANCEL")
		require.Equal(t, http2.ErrCodeSettingsTimeout, s.wasReset(1))
		s.data(1, true, "late") // is ignored
		go func() {
			s.got("HEADERS 3  END")
			s.heads(3, true, ":status", "204", "x", "y")
		}()
		req, _ = http.NewRequest("GET", "http://origin.test/", nil)
		resp, err = c.RoundTrip(req, nil)
		require.NoError(t, err)
		require.Equal(t, 204, resp.StatusCode)
	})
}

type neverEnds struct{}

func (neverEnds) Read(p []byte) (int, error) { return len(p), nil }
