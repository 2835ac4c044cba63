package linkdelay_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
)

func listen(t testing.TB, host *linkdelay.Host, address string) net.Listener {
	t.Helper()
	ln, err := host.Listen(t.Context(), "tcp", address)
	require.NoError(t, err)
	return ln
}

func dial(t testing.TB, from *linkdelay.Host, address string) net.Conn {
	t.Helper()
	conn, err := from.DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	return conn
}

func accept(t testing.TB, ln net.Listener) net.Conn {
	t.Helper()
	conn, err := ln.Accept()
	require.NoError(t, err)
	return conn
}

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
