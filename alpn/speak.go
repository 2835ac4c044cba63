package alpn

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Spoken is what a server said of itself in HTTP.
type Spoken struct {
	Protocol string    // h2, http/1.1 or h3
	Version  uint16    // of TLS
	QUIC     uint32    // its version; 0 is TCP
	Settings []Setting // of its first SETTINGS, in its order; nil with http/1.1
	Status   int       // of its answer to HEAD /; 0 if there was none
	AltSvc   []string  // of that answer, and of ALTSVC frames (RFC 7838)
	Server   string    // the header
	Err      error     // why there was no answer; nil if there was one
}

// Setting is one that a server states (RFC 9113, section 6.5.2; RFC 9114,
// section 7.2.4.1).
type Setting struct {
	Name  string // such as MAX_CONCURRENT_STREAMS
	Value uint64
}

// Setting is the value of the setting of that name, and whether it was stated.
func (s Spoken) Setting(name string) (value uint64, stated bool) {
	for _, setting := range s.Settings {
		if setting.Name == name {
			return setting.Value, true
		}
	}
	return 0, false
}

// ask sends a request, and reads until it is answered.
func (s *Spoken) ask(conn net.Conn, authority string) error {
	if s.Protocol == H2 {
		return s.http2(conn, authority)
	}
	return s.http1(conn, authority)
}

func (s *Spoken) http1(conn net.Conn, authority string) error {
	req, err := http.NewRequest(http.MethodHead, "https://"+authority+"/", nil)
	if err != nil {
		return err
	}
	req.Close = true
	var head bytes.Buffer
	if err := req.Write(&head); err != nil {
		return err
	}
	if err := send(conn, head.Bytes()); err != nil {
		return err
	}
	for read := bufio.NewReader(conn); s.Status < 200; {
		resp, err := http.ReadResponse(read, req)
		if err != nil {
			return err
		}
		resp.Body.Close()
		s.Status, s.Server = resp.StatusCode, resp.Header.Get("Server")
		s.AltSvc = append(s.AltSvc, resp.Header.Values("Alt-Svc")...)
	}
	return nil
}

// http2 does by hand what is needed of RFC 9113, because no client shows the
// SETTINGS.
func (s *Spoken) http2(conn net.Conn, authority string) error {
	var first bytes.Buffer
	first.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(&first, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	framer.SetMaxReadFrameSize(16 << 10) // what a client that states nothing takes (RFC 9113, section 6.5.2)
	framer.WriteSettings(http2.Setting{ID: http2.SettingEnablePush, Val: 0})
	framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: 1, BlockFragment: headFields(authority), EndStream: true, EndHeaders: true,
	})
	if err := send(conn, first.Bytes()); err != nil {
		return err
	}
	for replies := http2.NewFramer(conn, nil); s.Status < 200; {
		frame, err := framer.ReadFrame()
		if err != nil {
			return fmt.Errorf("reading HTTP/2: %w", err)
		}
		if err := s.frame(frame, replies); err != nil {
			return err
		}
	}
	http2.NewFramer(conn, nil).WriteGoAway(0, http2.ErrCodeNo, nil)
	return nil
}

// send fails with the alert that is waiting to be read, if one is: a server of
// TLS 1.3 that refuses a client's certificate may have closed before anything is
// written, and that the write then fails says nothing.
func send(conn net.Conn, b []byte) error {
	_, err := conn.Write(b)
	if err == nil {
		return nil
	}
	_, why := conn.Read(make([]byte, 1))
	if _, alerted := alertOf(why); alerted {
		return why
	}
	return err
}

func headFields(authority string) []byte {
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for _, field := range [][2]string{{":method", "HEAD"}, {":scheme", "https"}, {":authority", authority}, {":path", "/"}} {
		enc.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})
	}
	return block.Bytes()
}

func (s *Spoken) frame(frame http2.Frame, replies *http2.Framer) error {
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		return s.settings(f, replies)
	case *http2.PingFrame:
		if !f.IsAck() {
			return replies.WritePing(true, f.Data)
		}
	case *http2.MetaHeadersFrame:
		return s.headers(f)
	case *http2.GoAwayFrame:
		return fmt.Errorf("GOAWAY %v %q", f.ErrCode, f.DebugData())
	case *http2.RSTStreamFrame:
		return fmt.Errorf("RST_STREAM %v", f.ErrCode)
	case *http2.UnknownFrame:
		s.unknown(f)
	}
	return nil
}

func (s *Spoken) settings(f *http2.SettingsFrame, replies *http2.Framer) error {
	if f.IsAck() {
		return nil
	}
	if s.Settings == nil {
		s.Settings = make([]Setting, 0, f.NumSettings())
		for i := range f.NumSettings() {
			s.Settings = append(s.Settings, Setting{f.Setting(i).ID.String(), uint64(f.Setting(i).Val)})
		}
	}
	return replies.WriteSettingsAck()
}

func (s *Spoken) headers(f *http2.MetaHeadersFrame) error {
	if _, err := fmt.Sscan(f.PseudoValue("status"), &s.Status); err != nil {
		return errors.New("an answer without :status")
	}
	for _, field := range f.RegularFields() {
		switch strings.ToLower(field.Name) {
		case "alt-svc":
			s.AltSvc = append(s.AltSvc, field.Value)
		case "server":
			s.Server = field.Value
		}
	}
	return nil
}

// unknown takes what an ALTSVC frame announces (RFC 7838, section 4).
func (s *Spoken) unknown(f *http2.UnknownFrame) {
	const altSvc = 0xa
	if f.Header().Type != altSvc {
		return
	}
	c := cursor{f.Payload(), 0, new(*flaw)}
	c.part(2, 1, "origin")
	if *c.flaw == nil {
		s.AltSvc = append(s.AltSvc, string(c.left))
	}
}

// String is one line: what was said.
func (s Spoken) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s over %v:", s.Protocol, carrier{s.Version, s.QUIC})
	if s.Err != nil {
		fmt.Fprintf(&b, " no answer: %s", whyNoAnswer(s.Err))
	} else {
		fmt.Fprintf(&b, " status %d", s.Status)
	}
	if s.Server != "" {
		b.WriteString(", server " + s.Server)
	}
	if s.Settings != nil {
		b.WriteString(", SETTINGS " + cmp.Or(list(s.Settings, settingName), "of nothing"))
	}
	if len(s.AltSvc) > 0 {
		b.WriteString(", Alt-Svc " + strings.Join(s.AltSvc, ", "))
	}
	return b.String()
}

func whyNoAnswer(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the connection was closed"
	}
	return err.Error()
}

func settingName(s Setting) string { return fmt.Sprintf("%s=%d", s.Name, s.Value) }
