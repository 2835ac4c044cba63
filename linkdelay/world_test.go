package linkdelay_test

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
)

func TestEachWorldDialsNames(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.RTT(10*time.Millisecond), func(t *testing.T, network *linkdelay.Network) {
		for _, port := range []string{":0", ":443", ":8443"} {
			ln := listen(t, network.Host("origin.test"), port)
			near := dial(t, network.Host("pc.test"), ln.Addr().String())
			far := accept(t, ln)
			_, err := near.Write([]byte("hello"))
			require.NoError(t, err)
			require.NoError(t, near.Close())
			got, err := io.ReadAll(far)
			require.NoError(t, err)
			require.Equal(t, "hello", string(got))
		}
	})
}
