package chrome

import "time"

// SetCloseBound shortens how long Finish waits for the browser.
func (b *Browser) SetCloseBound(d time.Duration) { b.closeBound = d }

// Group is the process group of the browser.
func (b *Browser) Group() int { return b.process.cmd.Process.Pid }
