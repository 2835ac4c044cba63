package wire_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/netlog/wire"
)

func TestHandlerKnowsWhetherTheRequestHasEnded(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p *pair) {
		read := make(chan struct{})
		p.start(func(w http.ResponseWriter, r *http.Request) {
			before := wire.StreamOf(r).RequestEnded()
			close(read)
			io.Copy(io.Discard, r.Body)
			fmt.Fprint(w, before, wire.StreamOf(r).RequestEnded())
		})
		body, more := io.Pipe()
		go func() {
			io.WriteString(more, "begun")
			<-read
			more.Close()
		}()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.get("/").URL.String(), body)
		require.NoError(t, err)
		require.Equal(t, "false true", fetch(t, p.client(), req))

		read = make(chan struct{})
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader("")), 0
		require.True(t, strings.HasSuffix(fetch(t, p.client(), req), "true"))
	})
}

// net/http takes Connection out of an answer that says close, and with it the
// names of other fields.
func TestConnectionFieldOfAnAnswerIsKept(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p *pair) {
		if p.protocol == "h2" {
			t.Skip("h2 has no such field")
		}
		p.start(func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Connection"] = []string{"X-Hop, close", "X-Other"}
		})
		resp, err := p.client().RoundTrip(p.get("/"), nil)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, []string{"X-Hop, close", "X-Other"}, resp.Header["Connection"])
	})
}
