package origin

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// ConnectionFault is something that goes wrong on purpose with one connection,
// before TLS. Its Do is NeverRead, NeverShakeHands, HangUp, HangUpHard, or what one
// likes to do with a net.Conn.
type ConnectionFault struct {
	// Connection says which one: the nth that is accepted, from 1. 0 is each.
	Connection int
	// Do is what happens instead of the handshake. It owns conn until it returns;
	// then conn is closed. ctx ends when the origin closes, and so does conn.
	Do func(ctx context.Context, conn net.Conn)
}

// NeverRead accepts the connection and never reads from it.
func NeverRead(ctx context.Context, conn net.Conn) { <-ctx.Done() }

// NeverShakeHands reads what the client says, and never answers its hello.
func NeverShakeHands(_ context.Context, conn net.Conn) { io.Copy(io.Discard, conn) }

// HangUp closes the connection when the client has said something.
func HangUp(_ context.Context, conn net.Conn) { conn.Read(make([]byte, 1<<14)) }

// HangUpHard is HangUp by a reset, where the connection can be reset.
func HangUpHard(ctx context.Context, conn net.Conn) {
	HangUp(ctx, conn)
	if l, ok := conn.(interface{ SetLinger(int) error }); ok {
		l.SetLinger(0)
	}
}

func validConnectionFaults(all []ConnectionFault) error {
	for i, f := range all {
		if f.Connection < 0 {
			return fmt.Errorf("Config.ConnectionFaults[%d]: Connection: %d is negative", i, f.Connection)
		}
		if f.Do == nil {
			return fmt.Errorf("Config.ConnectionFaults[%d]: Do is nil: nothing would go wrong", i)
		}
	}
	return nil
}

// misuse lets the fault that is meant for the nth connection, if there is one,
// have it.
func (s *Server) misuse(n int, conn net.Conn, rec *netlog.ConnectionRecord) bool {
	for _, f := range s.connectionFaults {
		if f.Connection != 0 && f.Connection != n {
			continue
		}
		stop := context.AfterFunc(s.ctx, func() { conn.Close() })
		f.Do(s.ctx, conn)
		rec.Close("closed by a fault")
		conn.Close()
		stop()
		return true
	}
	return false
}

// LateSettings is a Config.Prepare that holds back SETTINGS, and all that
// follows it, answers too, for d. On HTTP/1.1 it does nothing.
func LateSettings(d time.Duration) func(*wire.Control) {
	check("LateSettings", notNegative("d", d))
	return func(c *wire.Control) {
		if d > 0 { // 0 would be for ever
			c.HoldSettings(d) // it fails on HTTP/1.1, which has none
		}
	}
}
