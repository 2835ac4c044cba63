package chrome

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// folder is where all files of one browser are, so that one removal leaves
// nothing of it: the profile, and in place of the user's own, a home and a
// place for temporary files.
type folder string

func (d folder) profile() string { return d.sub("profile") }
func (d folder) netLog() string  { return d.sub("netlog.json") }
func (d folder) stderr() string  { return d.sub("stderr") }

func (d folder) sub(name string) string { return filepath.Join(string(d), name) }

func newFolder() (folder, error) {
	path, err := os.MkdirTemp("", "chrome-") // short, for paths of sockets are limited
	if err != nil {
		return "", err
	}
	d := folder(path)
	for _, name := range []string{"profile", "home", "tmp"} {
		if err := os.Mkdir(d.sub(name), 0o700); err != nil {
			os.RemoveAll(path)
			return "", err
		}
	}
	return d, nil
}

// environment is this process's own, but for what leads to the user's files.
func (d folder) environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == "HOME" || name == "TMPDIR" || strings.HasPrefix(name, "XDG_")
	})
	return append(env, "HOME="+d.sub("home"), "TMPDIR="+d.sub("tmp"))
}

// remove tries for a while, since what was killed a moment ago may still write.
func (d folder) remove() (err error) {
	for range 100 {
		if err = os.RemoveAll(string(d)); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

// complaints are the last lines that the browser wrote to its standard error,
// under a headline; "" is none.
func (d folder) complaints() string {
	const last = 15
	text, err := os.ReadFile(d.stderr())
	if err != nil || len(text) == 0 {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.Contains(line, ":dbus/") }) // there is none in a container
	if len(lines) == 0 {
		return ""
	}
	if left := len(lines) - last; left > 0 {
		lines = append([]string{fmt.Sprintf("(%d lines)", left)}, lines[left:]...)
	}
	return "\nthe browser wrote:\n\t" + strings.Join(lines, "\n\t")
}
