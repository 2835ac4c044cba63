package alpn

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
)

// The versions of QUIC whose Initial packets are read (RFC 9000, section 15;
// RFC 9369, section 3).
const (
	QUICv1 uint32 = 0x00000001
	QUICv2 uint32 = 0x6b3343cf
)

func quicVersionName(v uint32) string {
	switch v {
	case QUICv1:
		return "v1"
	case QUICv2:
		return "v2"
	}
	return fmt.Sprintf("%#08x", v)
}

// initialKeys protect the Initial packets of one side. Anyone who saw the
// client's first packet has them (RFC 9001, section 5.2).
type initialKeys struct {
	key, iv, hp []byte
}

func clientInitialKeys(version uint32, connectionID []byte) (k initialKeys) {
	secret := must(hkdf.Extract(sha256.New, connectionID, initialSalt(version)))
	secret = expandLabel(secret, "client in", sha256.Size)
	prefix := "quic"
	if version == QUICv2 {
		prefix = "quicv2"
	}
	k.key = expandLabel(secret, prefix+" key", 16)
	k.iv = expandLabel(secret, prefix+" iv", 12)
	k.hp = expandLabel(secret, prefix+" hp", 16)
	return k
}

// initialSalt is of RFC 9001, section 5.2, and RFC 9369, section 3.3.1.
func initialSalt(version uint32) []byte {
	if version == QUICv2 {
		return []byte{0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93, 0x81, 0xbe, 0x6e, 0x26, 0x9d, 0xcb, 0xf9, 0xbd, 0x2e, 0xd9}
	}
	return []byte{0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc, 0xbb, 0x7f, 0x0a}
}

// expandLabel is HKDF-Expand-Label without a context (RFC 8446, section 7.1).
func expandLabel(secret []byte, label string, size int) []byte {
	info := []byte{byte(size >> 8), byte(size), byte(len("tls13 " + label))}
	info = append(info, "tls13 "+label...)
	info = append(info, 0)
	return must(hkdf.Expand(sha256.New, secret, string(info), size))
}

// unmask removes header protection in place (RFC 9001, section 5.4): of the
// first byte and of the packet number, which begins at byte at. It returns the
// number and its length; packet has the 20 bytes from there on that it needs.
func (k initialKeys) unmask(packet []byte, at int) (number uint32, size int) {
	var mask [aes.BlockSize]byte
	must(aes.NewCipher(k.hp)).Encrypt(mask[:], packet[at+4:at+4+len(mask)])
	packet[0] ^= mask[0] & 0x0f
	size = int(packet[0]&3) + 1
	for i := range size {
		packet[at+i] ^= mask[1+i]
		number = number<<8 | uint32(packet[at+i])
	}
	return number, size
}

// open decrypts a payload (RFC 9001, section 5.3). The number is taken as
// whole: a client that has sent so many Initial packets that it is not, has
// none of its hello left to say.
func (k initialKeys) open(number uint32, header, payload []byte) ([]byte, error) {
	nonce := append([]byte(nil), k.iv...)
	for i := range 4 {
		nonce[len(nonce)-1-i] ^= byte(number >> (8 * i))
	}
	return must(cipher.NewGCM(must(aes.NewCipher(k.key)))).Open(nil, nonce, payload, header)
}

// must is for what can only fail by a wrong size, and the sizes are constant.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
