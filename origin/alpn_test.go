package origin_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

const refused = "refused"

// offers are the columns of the policy table.
func offers() [][]string {
	return [][]string{{"h2", "http/1.1"}, {"http/1.1"}, {"h2"}, {"spdy/3"}, nil}
}

func TestWhatIsNegotiatedIsServedAndRecorded(t *testing.T) {
	leavesNothing(t)
	for _, c := range []struct {
		policy alpn.Policy
		want   [5]string // ALPN, for each of offers
	}{
		{alpn.Policy{}, [5]string{"h2", "http/1.1", "h2", netlog.NoALPN, netlog.NoALPN}},
		{alpn.Prefer("http/1.1", "h2"), [5]string{"http/1.1", "http/1.1", "h2", netlog.NoALPN, netlog.NoALPN}},
		{alpn.Only("h2"), [5]string{"h2", refused, "h2", refused, refused}},
		{alpn.Only("http/1.1"), [5]string{"http/1.1", "http/1.1", refused, refused, netlog.NoALPN}},
		{alpn.None(), [5]string{netlog.NoALPN, netlog.NoALPN, netlog.NoALPN, netlog.NoALPN, netlog.NoALPN}},
	} {
		s := origin.New(t, &origin.Config{Handler: hello, ALPN: c.policy})
		for i, offered := range offers() {
			status := exchange(t, s, offered, c.want[i])
			if c.want[i] != refused {
				assert.Equal(t, "200", status, "%v, client offers %q", c.policy, offered)
			}
		}
		for i, got := range s.Log().Connections() {
			assertRow(t, fmt.Sprintf("%v, client offers %q", c.policy, offers()[i]), got, c.want[i])
			assert.Equal(t, offers()[i], got.Offered, "%v: offered", c.policy)
			assert.Equal(t, s.Addr, got.Host)
		}
	}
}

func assertRow(t *testing.T, row string, got netlog.Connection, want string) {
	t.Helper()
	if want == refused {
		assert.Zero(t, got.Handshaken, "%s: handshake done", row)
		assert.Contains(t, got.CloseReason, "refused", row)
		return
	}
	assert.Equal(t, want, got.ALPN, row)
	assert.Equal(t, spoken(want), got.Protocol, row)
	assert.Equal(t, "wiretest origin CA", got.Issuer, row)
	assert.Equal(t, 1, got.Requests, row)
}

func spoken(proto string) string {
	if proto == alpn.H2 {
		return alpn.H2
	}
	return alpn.HTTP11
}

// exchange makes one connection by hand, for net/http does not offer whatever
// one likes, and asks one thing over it.
func exchange(t *testing.T, s *origin.Server, offered []string, want string) (status string) {
	t.Helper()
	cfg := s.CA().ClientTLS()
	cfg.NextProtos, cfg.ServerName = offered, "127.0.0.1"
	raw, err := net.Dial("tcp", s.Addr)
	require.NoError(t, err)
	defer raw.Close()
	conn := tls.Client(raw, cfg)
	err = conn.Handshake()
	if want == refused {
		io.Copy(io.Discard, raw)                                                                                 // the ledger knows before the connection is closed
		require.ErrorContains(t, err, "remote error: tls: no application protocol", "client offers %q", offered) // alert 120
		return ""
	}
	require.NoError(t, err, "client offers %q", offered)
	tr := &http.Transport{TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}}
	if conn.ConnectionState().NegotiatedProtocol == alpn.H2 {
		tr = s.Transport(nil)
	}
	defer tr.CloseIdleConnections()
	tr.DialTLSContext = sole(conn)
	resp, err := tr.RoundTrip(must(http.NewRequestWithContext(t.Context(), "GET", s.URL, nil)))
	require.NoError(t, err, "client offers %q", offered)
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	return resp.Status[:3]
}

func TestTransportOffersWhatThePolicyLists(t *testing.T) {
	leavesNothing(t)
	for _, c := range []struct {
		policy alpn.Policy
		offers []string
		spoken string
	}{
		{alpn.Policy{}, []string{"h2", "http/1.1"}, "h2"},
		{alpn.Prefer("http/1.1", "h2"), []string{"http/1.1", "h2"}, "http/1.1"},
		{alpn.Prefer("h2"), []string{"h2"}, "h2"},
		{alpn.Only("h2"), []string{"h2"}, "h2"},
		{alpn.Only("http/1.1"), []string{"http/1.1"}, "http/1.1"},
		{alpn.Only("http/1.1", "http/1.0"), []string{"http/1.1", "http/1.0"}, "http/1.1"},
		{alpn.None(), nil, "http/1.1"},
	} {
		s := origin.New(t, &origin.Config{Handler: hello, ALPN: c.policy})
		_, resp := get(t, &http.Client{Transport: s.Transport(nil)}, s.URL)
		alpn.RequireProtocol(t, resp, c.spoken)
		netlog.RequireConnections(t, s.Log(), 1, c.spoken)
		assert.Equal(t, c.offers, s.Log().Connections()[0].Offered, "%v", c.policy)
	}
}
