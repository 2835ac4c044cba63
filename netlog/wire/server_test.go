package wire_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

func TestHandlersKnowTheirRecords(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p *pair) {
		p.start(func(w http.ResponseWriter, r *http.Request) {
			q := wire.RequestOf(r).Request()
			c := wire.ConnectionOf(r).Connection()
			fmt.Fprintf(w, "%s %s over connection %d from %s, TLS %t, header %d",
				q.Method, q.URL, c.ID, r.RemoteAddr, r.TLS != nil, len(r.Header))
		})
		c := p.client()
		for i := range 3 {
			path := fmt.Sprintf("/page/%d", i)
			var started *netlog.RequestRecord
			resp, err := c.RoundTrip(p.get(path), func(rec *netlog.RequestRecord) { started = rec })
			require.NoError(t, err)
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, fmt.Sprintf("GET %s over connection 1 from %s, TLS %t, header 0",
				p.url(path), c.Record().Connection().Local, p.encrypted), string(body))
			require.NotNil(t, started)
			require.True(t, strings.HasSuffix(started.Request().URL, path), "started got the record of %s", started.Request().URL)
			require.Equal(t, p.encrypted, resp.TLS != nil)
		}
		requireEqualRecords(t, p, 3)
	})
}

// requireEqualRecords compares what both ends recorded of n requests.
func requireEqualRecords(t testing.TB, p *pair, n int) {
	t.Helper()
	up, down := p.clientLog.Requests(), p.serverLog.Requests()
	require.Len(t, up, n)
	require.Len(t, down, n)
	for i := range up {
		require.Equal(t, up[i].URL, down[i].URL)
		require.Equal(t, up[i].Status, down[i].Status)
		require.Equal(t, up[i].Stream, down[i].Stream)
		require.Equal(t, up[i].Protocol, down[i].Protocol)
		require.Equal(t, up[i].HeaderBytesUp, down[i].HeaderBytesUp)
		require.Equal(t, up[i].BodyBytesDown, down[i].BodyBytesDown)
		require.Equal(t, p.protocol, down[i].Protocol)
	}
}
