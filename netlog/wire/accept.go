package wire

import (
	"context"
	"errors"
	"net"
	"time"
)

// Accept calls serve with each connection that l accepts, one after another, so
// serve starts a goroutine. It returns when ctx has ended or l is closed. Other
// failures, such as no descriptor being free, may get better: it tries again, after
// 5 ms, 10 ms and so on up to a second.
func Accept(ctx context.Context, l net.Listener, serve func(net.Conn)) {
	for failures := 0; ; {
		conn, err := l.Accept()
		switch {
		case err == nil:
			failures = 0
			serve(conn)
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return
		default:
			failures++
			if Pause(ctx, min(time.Duration(failures)*5*time.Millisecond, time.Second)) != nil {
				return
			}
		}
	}
}

// Pause waits for d, or fails with ctx's error when that ends first.
func Pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
