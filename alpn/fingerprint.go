package alpn

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// JA3 is a fingerprint of the client: 32 hexadecimal digits. Clients that
// shuffle their extensions, as browsers do, have another one each time. It is
// the MD5 of JA3Text (https://github.com/salesforce/ja3).
func (h *ClientHello) JA3() string {
	sum := md5.Sum([]byte(h.JA3Text()))
	return hex.EncodeToString(sum[:])
}

// JA3Text is what JA3 is made of, in decimal and in the order sent: version,
// cipher suites, extensions, groups, point formats. GREASE is left out.
func (h *ClientHello) JA3Text() string {
	return strings.Join([]string{
		strconv.Itoa(int(h.Version)),
		decimals(h.CipherSuites), decimals(h.Extensions), decimals(h.Groups), decimals(h.PointFormats),
	}, ",")
}

func decimals[T ~uint8 | ~uint16](values []T) string {
	var all []string
	for _, v := range values {
		if !IsGREASE(uint16(v)) {
			all = append(all, strconv.Itoa(int(v)))
		}
	}
	return strings.Join(all, "-")
}

// JA4 is a fingerprint of the client in three parts, such as
// t13d1516h2_8daaf6152771_e5627efa2ab1: a summary that can be read, a hash of
// the cipher suites, a hash of extensions and signature algorithms
// (https://github.com/FoxIO-LLC/ja4, technical_details/JA4.md). The order of
// suites and extensions does not count, nor does GREASE.
func (h *ClientHello) JA4() string {
	return h.ja4Summary() + "_" + hash12(h.ja4Suites()) + "_" + hash12(h.ja4Extensions())
}

// JA4Text is JA4 with the lists in place of their hashes: what is published
// as JA4_r.
func (h *ClientHello) JA4Text() string {
	return h.ja4Summary() + "_" + h.ja4Suites() + "_" + h.ja4Extensions()
}

func (h *ClientHello) ja4Summary() string {
	transport, host := "t", "i"
	if slices.Contains(h.Extensions, extQUICParameters) { // RFC 9001, section 8.2: in QUIC always, elsewhere never
		transport = "q"
	}
	if slices.Contains(h.Extensions, extServerName) {
		host = "d"
	}
	return fmt.Sprintf("%s%s%s%02d%02d%s", transport, ja4Version(h.newest()), host,
		min(99, len(withoutGREASE(h.CipherSuites))), min(99, len(withoutGREASE(h.Extensions))), ja4ALPN(h.ALPN))
}

// newest is the highest version that is offered.
func (h *ClientHello) newest() uint16 {
	if versions := withoutGREASE(h.Versions); len(versions) > 0 {
		return slices.Max(versions)
	}
	return h.Version
}

func ja4Version(v uint16) string {
	switch v {
	case 0x0304:
		return "13"
	case 0x0303:
		return "12"
	case 0x0302:
		return "11"
	case 0x0301:
		return "10"
	case 0x0300:
		return "s3"
	case 0x0002:
		return "s2"
	}
	return "00"
}

// ja4ALPN is the first and the last character of the first name, or, where one
// of them is neither letter nor digit, of its hexadecimal form.
func ja4ALPN(names []string) string {
	names = slices.DeleteFunc(slices.Clone(names), isGREASEName)
	if len(names) == 0 {
		return "00"
	}
	name := names[0]
	if !alphanumeric(name[0]) || !alphanumeric(name[len(name)-1]) {
		name = hex.EncodeToString([]byte(name))
	}
	return string([]byte{name[0], name[len(name)-1]})
}

func alphanumeric(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z'
}

func (h *ClientHello) ja4Suites() string {
	suites := withoutGREASE(h.CipherSuites)
	slices.Sort(suites)
	return hexadecimals(suites)
}

// ja4Extensions leaves out what the summary already tells, so that it is the
// same whatever host and protocol the client is after.
func (h *ClientHello) ja4Extensions() string {
	ids := slices.DeleteFunc(withoutGREASE(h.Extensions), func(id uint16) bool {
		return id == extServerName || id == extALPN
	})
	slices.Sort(ids)
	text := hexadecimals(ids)
	if schemes := withoutGREASE(h.SignatureSchemes); len(schemes) > 0 {
		text += "_" + hexadecimals(schemes)
	}
	return text
}

func withoutGREASE[T ~uint16](values []T) []T {
	return slices.DeleteFunc(slices.Clone(values), IsGREASE[T])
}

func hexadecimals[T ~uint16](values []T) string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = fmt.Sprintf("%04x", uint16(v))
	}
	return strings.Join(all, ",")
}

// hash12 is the beginning of a SHA-256; of nothing it is zeros.
func hash12(text string) string {
	if text == "" {
		return strings.Repeat("0", 12)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}
