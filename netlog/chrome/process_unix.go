//go:build unix

package chrome

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const supported = true

// inGroup makes the browser the head of a process group, because it has many
// children, and may itself be the child of a script.
func inGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends all of the group that is left.
func killGroup(leader int) { syscall.Kill(-leader, syscall.SIGKILL) }

// awaitGroup waits until nothing of a group that was killed runs any more.
func awaitGroup(leader int) {
	for range 500 {
		if !groupRuns(leader) {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// groupRuns does not count what is dead and was not yet reaped by whoever
// inherited it: in a container that may be never.
func groupRuns(leader int) bool {
	if syscall.Kill(-leader, 0) == syscall.ESRCH {
		return false
	}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		text, _ := os.ReadFile(name)
		_, after, _ := strings.Cut(string(text), ") ") // behind the name: state, parent, group (proc(5))
		fields := strings.Fields(after)
		if len(fields) > 2 && fields[2] == strconv.Itoa(leader) && fields[0] != "Z" && fields[0] != "X" {
			return true
		}
	}
	return len(stats) == 0
}
