package hotspot

import (
	"context"
	"net"
)

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// redirected dials one address, whatever it is asked for.
func redirected(dial dialFunc, to string) dialFunc {
	return func(ctx context.Context, network, _ string) (net.Conn, error) { return dial(ctx, network, to) }
}
