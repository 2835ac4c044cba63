package origin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func establishedSockets(pid int) ([]socket, error) {
	root := "/proc/self"
	if pid != 0 {
		root = filepath.Join("/proc", strconv.Itoa(pid))
	}
	own, err := inodesOf(root)
	if err != nil {
		return nil, err
	}
	var all []socket
	for _, name := range []string{"net/tcp", "net/tcp6"} {
		listed, err := readSockets(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		all = append(all, establishedAmong(listed, own)...)
	}
	return all, nil
}

// inodesOf are the sockets among a process's descriptors.
func inodesOf(root string) (map[string]bool, error) {
	entries, err := os.ReadDir(filepath.Join(root, "fd"))
	if err != nil {
		return nil, err
	}
	own := make(map[string]bool)
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(root, "fd", e.Name()))
		if err != nil {
			continue // closed meanwhile
		}
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			own[strings.TrimSuffix(inode, "]")] = true
		}
	}
	return own, nil
}

func readSockets(name string) ([]socket, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // a kernel without IPv6 has no tcp6
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := parseSockets(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return all, nil
}
