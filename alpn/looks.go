package alpn

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"strings"
)

// What a stream that does not begin with a ClientHello looks like.
const (
	LooksHTTP    = "HTTP request"
	LooksHTTP2   = "HTTP/2 preface"
	LooksAnswer  = "HTTP response"
	LooksProxy   = "PROXY protocol header"
	LooksSSH     = "SSH banner"
	LooksSMTP    = "SMTP greeting"
	LooksSOCKS   = "SOCKS greeting"
	LooksSSLv2   = "SSLv2 hello"
	LooksAlert   = "TLS alert"
	LooksRecord  = "TLS record of another type"
	LooksGarbage = "garbage"

	looksTLS = "TLS handshake"
)

// looksLike says what the beginning of a stream is, and whether that is
// certain: if not, more bytes will tell.
func looksLike(stream []byte) (looks string, certain bool) {
	if len(stream) == 0 {
		return LooksGarbage, false
	}
	switch first := stream[0]; {
	case first == recordHandshake:
		return looksTLS, true
	case first >= recordChangeCipherSpec && first <= recordApplicationData:
		return looksRecord(stream)
	case first&0x80 != 0:
		return looksSSLv2(stream)
	case first == 4 || first == 5: // RFC 1928, section 3: the version
		return LooksSOCKS, true
	}
	return looksText(stream)
}

func looksRecord(stream []byte) (string, bool) {
	if len(stream) == 1 {
		return LooksRecord, false
	}
	if stream[1] != 3 {
		return LooksGarbage, true
	}
	if stream[0] != recordAlert {
		return LooksRecord, true
	}
	return LooksAlert, len(stream) >= recordHeader+2
}

// looksSSLv2 knows the two-byte length with its high bit set, the type of a
// CLIENT-HELLO, and a version of 0.2 or 3.x (RFC 6101, appendix E).
func looksSSLv2(stream []byte) (string, bool) {
	switch {
	case len(stream) > 2 && stream[2] != clientHello:
		return LooksGarbage, true
	case len(stream) > 3 && stream[3] != 0 && stream[3] != 3:
		return LooksGarbage, true
	}
	return LooksSSLv2, len(stream) > 3
}

func looksText(stream []byte) (string, bool) {
	for _, known := range openings() {
		for _, prefix := range known.prefixes {
			if bytes.HasPrefix(stream, []byte(prefix)) {
				return known.looks, true
			}
			if strings.HasPrefix(prefix, string(stream)) {
				return known.looks, false
			}
		}
	}
	return LooksGarbage, true
}

type opening struct {
	looks    string
	prefixes []string
}

func openings() []opening {
	return []opening{
		{LooksHTTP2, []string{"PRI * HTTP/2.0"}},
		{LooksHTTP, []string{"GET ", "POST ", "PUT ", "HEAD ", "DELETE ", "OPTIONS ", "CONNECT ", "PATCH ", "TRACE "}},
		{LooksAnswer, []string{"HTTP/1."}},
		{LooksProxy, []string{"PROXY ", "\r\n\r\n\x00\r\nQUIT\n"}},
		{LooksSSH, []string{"SSH-"}},
		{LooksSMTP, []string{"EHLO ", "HELO "}},
	}
}

// describe is what the stream looks like, with its article, and shows it.
func describe(looks string, stream []byte) string {
	switch looks {
	case LooksAlert:
		return fmt.Sprintf("a TLS alert: level %d, %v (%d)", stream[5], tls.AlertError(stream[6]), stream[6])
	case LooksRecord:
		return fmt.Sprintf("a TLS record of type %d%s", stream[0], recordName(stream[0]))
	case LooksGarbage:
		return "garbage: " + shown(stream)
	case LooksProxy, LooksSOCKS:
		return "a " + looks + ": " + shown(firstLine(stream))
	}
	return "an " + looks + ": " + shown(firstLine(stream))
}

func firstLine(stream []byte) []byte {
	line, _, _ := bytes.Cut(stream, []byte("\r\n"))
	if len(line) == 0 {
		return stream
	}
	return line
}

func shown(b []byte) string {
	const most = 48
	if len(b) > most {
		return fmt.Sprintf("%q…", b[:most])
	}
	return fmt.Sprintf("%q", b)
}

func recordName(kind byte) string {
	switch kind {
	case recordChangeCipherSpec:
		return " (change_cipher_spec)"
	case recordAlert:
		return " (alert)"
	case recordApplicationData:
		return " (application_data)"
	}
	return ""
}

func handshakeName(kind byte) string {
	switch kind {
	case helloRequest:
		return " (hello_request)"
	case clientHello:
		return " (client_hello)"
	case serverHello:
		return " (server_hello)"
	}
	return ""
}
