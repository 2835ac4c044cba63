package chrome

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/wiretest/netlog"
)

// Result is what a browser leaves behind.
type Result struct {
	Log     *netlog.Log // what is in the NetLog
	Version string      // of the browser, as "Chrome/156.0.8078.114"
	NetLog  string      // the file, where Config.NetLog named one; else ""
}

// Run opens one page in a browser of its own, and returns when the page is done
// (see Open) and the browser gone. Where the page was never done there is a
// Result beside the error, as far as the browser came: its Log may say why.
func Run(ctx context.Context, url string, cfg *Config) (*Result, error) {
	b, err := start(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer b.Close() // also where Config.Done ends this goroutine, as t.FailNow does
	err = b.Open(ctx, url)
	result, closed := b.Finish()
	if err == nil {
		err = closed
	}
	return result, err
}

// Finish closes the browser in the way that makes its NetLog whole, and returns
// that. It waits 30 seconds at most; then the browser is killed and the error
// says so, and where the browser had ended before by itself the error says that:
// the Result then has what was written until then, and its Log what that lacks.
// Everything else that the browser wrote is removed.
//
// Finish may be called again, and returns the same.
func (b *Browser) Finish() (*Result, error) {
	b.mu.Lock()
	first := !b.ending
	b.ending = true
	b.mu.Unlock()
	if first {
		b.result, b.finishErr = b.finish()
		close(b.finished)
	}
	<-b.finished
	return b.result, b.finishErr
}

// Close is Finish for who does not want the Result.
func (b *Browser) Close() error {
	_, err := b.Finish()
	return err
}

func (b *Browser) isFinished() bool {
	select {
	case <-b.finished:
		return true
	default:
		return false
	}
}

func (b *Browser) finish() (*Result, error) {
	err := b.quit()
	b.process.kill() // what it left, or all
	<-b.conn.ended
	b.complaints = b.dir.complaints()
	if err != nil {
		err = fmt.Errorf("chrome: close: %w%s", err, b.complaints)
	}
	result, readErr := b.read()
	return result, errors.Join(err, readErr, b.dir.remove())
}

// quit asks the browser to end.
func (b *Browser) quit() error {
	alive := !b.hasEnded()
	b.cancel(errors.New("the browser is closed"))
	if alive {
		_, err := b.conn.send("", "Browser.close", nil)
		alive = err == nil
	}
	select {
	case <-b.process.ended:
	case <-time.After(b.closeBound):
		return fmt.Errorf("the browser did not end within %v and was killed", b.closeBound)
	}
	if !alive {
		return fmt.Errorf("the browser had ended before (%v)", b.process.cmd.ProcessState)
	}
	if b.process.err != nil {
		return fmt.Errorf("the browser ended badly (%w)", b.process.err)
	}
	return nil
}

func (b *Browser) hasEnded() bool {
	select {
	case <-b.process.ended:
		return true
	default:
		return false
	}
}

func (b *Browser) read() (*Result, error) {
	result := &Result{Version: b.Version}
	if b.cfg.NetLog != b.dir.netLog() {
		result.NetLog = b.cfg.NetLog
	}
	log, err := netlog.ReadFile(b.cfg.NetLog)
	if err != nil {
		return result, fmt.Errorf("chrome: NetLog: %w", err)
	}
	result.Log = log
	return result, nil
}
