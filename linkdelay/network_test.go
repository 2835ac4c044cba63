package linkdelay_test

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
)

func TestPlainHTTPTakesTwoRoundTrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.RTT(100*time.Millisecond))
		ln, err := network.Host("origin.test").Listen(t.Context(), "tcp", ":80")
		require.NoError(t, err)
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello "+r.RemoteAddr) })}
		go srv.Serve(ln) // ends with the Network
		tr := &http.Transport{DialContext: network.Host("pc.test").DialContext}
		start := time.Now()
		resp, err := (&http.Client{Transport: tr}).Get("http://origin.test/")
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, "hello pc.test:49152", string(body))
		require.Equal(t, 200*time.Millisecond, time.Since(start))
	})
}
