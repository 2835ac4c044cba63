package origin_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/origin"
)

// A client that resets its connection has no answer, whatever the handler still says:
// the request ended with the connection.
func TestAClientThatResetsHasNoAnswer(t *testing.T) {
	const gone, late = time.Second, 3 * time.Second
	for _, proto := range []string{alpn.H2, alpn.HTTP11} {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.Link{})
			s := origin.New(t, &origin.Config{
				Net: network.Host("origin.test"), ALPN: alpn.Only(proto),
				Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					time.Sleep(late)
					io.WriteString(w, "late")
				}),
			})
			tr := s.Transport(network.Host("pc.test"))
			dial := tr.DialContext
			tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn := must(dial(ctx, network, addr))
				time.AfterFunc(gone, func() {
					conn.(interface{ SetLinger(int) error }).SetLinger(0)
					conn.Close()
				})
				return conn, nil
			}
			_, err := tr.RoundTrip(must(http.NewRequest(http.MethodGet, s.URL, nil)))
			assert.Error(t, err)
			time.Sleep(late)
			q := s.Log().Requests()[0]
			assert.Equal(t, "connection closed before the answer ended: reset by client", q.Err, proto)
			assert.Equal(t, gone, q.End.Sub(q.Start), proto)
			assert.Zero(t, q.Status, proto)
			assert.Zero(t, q.BodyBytesDown, proto)
		})
	}
}
