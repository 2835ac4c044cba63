package linkdelay

import (
	"context"
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzAddress: whatever is taken as a name can be listened on and dialled by
// the address that the listener says.
func FuzzAddress(f *testing.F) {
	for _, seed := range []string{"origin.test:443", "ORIGIN.test.:0", "[::1]:80", ":http", "a_b.xn--c:65535", "a:b:c", "..:1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		name, port, err := splitAddress(address)
		if err != nil || checkName(name) != nil {
			return
		}
		require.True(t, 0 <= port && port <= 65535)
		network, err := StartNetwork(Link{})
		require.NoError(t, err)
		defer network.Close()
		ln, err := network.Host(name).Listen(context.Background(), "tcp", address)
		require.NoError(t, err)
		host, _, err := net.SplitHostPort(ln.Addr().String())
		require.NoError(t, err)
		require.Equal(t, name, host)
		for _, text := range []string{ln.Addr().String(), net.JoinHostPort(name+".", strconv.Itoa(ln.Addr().(*Addr).Port()))} {
			_, err = network.Host("pc.test").DialContext(context.Background(), "tcp", text)
			require.NoError(t, err)
		}
	})
}
