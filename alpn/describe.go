package alpn

import (
	"crypto/tls"
	"fmt"
	"strings"
)

// String is the hello for a reader, a field a line, with names where they are
// known, GREASE marked as such, and fingerprints.
func (h *ClientHello) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "ClientHello of %d bytes%s", len(h.Raw), h.carried())
	line := func(name, value string) {
		if value != "" {
			b.WriteString("\n\t" + name + ": " + value)
		}
	}
	line("server name", h.ServerName)
	line("ALPN", list(h.ALPN, protocolName))
	line("versions", list(h.offeredVersions(), versionName))
	line("cipher suites", list(h.CipherSuites, marked(tls.CipherSuiteName)))
	line("groups", list(h.Groups, marked(tls.CurveID.String)))
	line("key shares", list(h.KeyShares, KeyShare.String))
	line("signature algorithms", list(h.SignatureSchemes, marked(tls.SignatureScheme.String)))
	line("PSK modes", list(h.PSKModes, pskMode))
	line("resumption", h.resumption())
	line("ECH", h.ECH.describe())
	line("extensions", list(h.Extensions, extensionName))
	line("JA3", h.JA3())
	line("JA4", h.JA4())
	return b.String()
}

// String is the group, and how long its key is.
func (k KeyShare) String() string {
	return fmt.Sprintf("%s (%d bytes)", marked(tls.CurveID.String)(k.Group), len(k.Data))
}

func (h *ClientHello) carried() string {
	if h.QUICVersion != 0 {
		return fmt.Sprintf(" over QUIC %s", quicVersionName(h.QUICVersion))
	}
	return fmt.Sprintf(" in records of %s", versionName(h.RecordVersion))
}

func (h *ClientHello) offeredVersions() []uint16 {
	if h.Versions == nil {
		return []uint16{h.Version}
	}
	return h.Versions
}

func (h *ClientHello) resumption() string {
	var all []string
	for _, psk := range h.PSKs {
		all = append(all, fmt.Sprintf("pre-shared key (identity of %d bytes)", len(psk.Identity)))
	}
	if len(h.SessionTicket) > 0 {
		all = append(all, fmt.Sprintf("session ticket (%d bytes)", len(h.SessionTicket)))
	}
	if h.EarlyData {
		all = append(all, "early data follows")
	}
	return strings.Join(all, ", ")
}

func (e *ECH) describe() string {
	switch {
	case e == nil:
		return ""
	case e.Inner:
		return "inner"
	}
	return fmt.Sprintf("outer (or GREASE), config %d, KDF %d, AEAD %d, %d bytes encrypted", e.ConfigID, e.KDF, e.AEAD, len(e.Payload))
}

func list[T any](values []T, name func(T) string) string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = name(v)
	}
	return strings.Join(all, ", ")
}

// marked gives GREASE its name, and all else the one that name has for it.
func marked[T ~uint16](name func(T) string) func(T) string {
	return func(v T) string {
		if IsGREASE(v) {
			return greaseName(uint16(v))
		}
		return name(v)
	}
}

func greaseName(v uint16) string { return fmt.Sprintf("GREASE (%#04x)", v) }

func versionName(v uint16) string { return marked(tls.VersionName)(v) }

func protocolName(name string) string {
	if isGREASEName(name) {
		return greaseName(uint16(name[0])<<8 | uint16(name[1]))
	}
	return name
}

func pskMode(mode uint8) string {
	switch {
	case mode == 0:
		return "psk_ke"
	case mode == 1:
		return "psk_dhe_ke"
	case isGREASEMode(mode):
		return fmt.Sprintf("GREASE (%#02x)", mode)
	}
	return fmt.Sprintf("%#02x", mode)
}
