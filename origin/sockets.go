package origin

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
)

// SocketsByRemote counts a process's established TCP connections by remote
// address, as the kernel tells: a witness that knows nothing of any fixture, to
// hold a Log against, and one that can be asked of a program that was not built
// for being tested. pid 0 is this process. A client's connections to a server
// are those whose remote address is the server's; IPv4 in IPv6 counts as IPv4.
//
// It reads /proc/<pid>/net/tcp and tcp6 (Linux, proc_pid_net(5)) and, to tell
// the process's sockets from those of others, /proc/<pid>/fd, which may be
// forbidden. On other systems the error is errors.ErrUnsupported.
func SocketsByRemote(pid int) (map[netip.AddrPort]int, error) {
	all, err := establishedSockets(pid)
	if err != nil {
		return nil, fmt.Errorf("origin: SocketsByRemote: %w", err)
	}
	counts := make(map[netip.AddrPort]int)
	for _, s := range all {
		counts[s.remote]++
	}
	return counts, nil
}

// SocketsTo is how many established TCP connections to the origin a process
// has, by SocketsByRemote. In a Net in memory that is 0.
func (s *Server) SocketsTo(pid int) (int, error) {
	counts, err := SocketsByRemote(pid)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, l := range s.listeners {
		if addr, err := netip.ParseAddrPort(l.Addr().String()); err == nil {
			n += counts[addr]
		}
	}
	return n, nil
}

// socket is a line of /proc/net/tcp.
type socket struct {
	remote netip.AddrPort
	state  string
	inode  string
}

const established = "01" // TCP_ESTABLISHED, in hexadecimal

// establishedAmong are those of listed whose inode is own, each once and taken from
// own: the list is no snapshot, and the kernel repeats a socket where others come
// and go while it is read.
func establishedAmong(listed []socket, own map[string]bool) (all []socket) {
	for _, s := range listed {
		if s.state == established && own[s.inode] {
			delete(own, s.inode)
			all = append(all, s)
		}
	}
	return all
}

// parseSockets reads the format of /proc/net/tcp and tcp6: a head, and then
// lines with local and remote address, state, four fields, uid, timeout, inode.
func parseSockets(r io.Reader) (all []socket, err error) {
	in := bufio.NewScanner(r)
	in.Scan() // the head
	for n := 2; in.Scan(); n++ {
		fields := strings.Fields(in.Text())
		if len(fields) < 10 {
			return nil, fmt.Errorf("line %d has %d fields: want 10 or more", n, len(fields))
		}
		remote, err := parseSocketAddr(fields[2])
		if err != nil {
			return nil, fmt.Errorf("line %d: remote address %q: %w", n, fields[2], err)
		}
		all = append(all, socket{remote, fields[3], fields[9]})
	}
	return all, in.Err()
}

// parseSocketAddr reads 0100007F:1F90: the address in 32-bit words that are
// numbers of the machine's byte order, and the port.
func parseSocketAddr(text string) (netip.AddrPort, error) {
	host, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	if err != nil {
		return netip.AddrPort{}, err
	}
	if len(raw) != 4 && len(raw) != 16 {
		return netip.AddrPort{}, fmt.Errorf("%d bytes: want 4 or 16", len(raw))
	}
	for word := raw; len(word) > 0; word = word[4:] {
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	number, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return netip.AddrPort{}, err
	}
	addr, _ := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(addr.Unmap(), uint16(number)), nil
}
