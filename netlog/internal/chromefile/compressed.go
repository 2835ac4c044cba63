package chromefile

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// mostLayers is how deep compressed files may be inside of one another.
const mostLayers = 3

// decompress looks at the first bytes, never at a name.
func decompress(r io.Reader) (io.Reader, error) {
	for range mostLayers {
		b := bufio.NewReader(r)
		magic, _ := b.Peek(4)
		var err error
		switch {
		case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
			r, err = gzip.NewReader(b)
		case string(magic) == zipEntry:
			r, err = unzip(b)
		default:
			return b, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("compressed more than %d times", mostLayers-1)
}

// Of the zip format (PKWARE's APPNOTE, sections 4.3.7 and 4.3.9).
const (
	zipEntry      = "PK\x03\x04"
	zipHeaderLen  = 30
	zipEncrypted  = 1 << 0
	zipSizesLater = 1 << 3
	zipStored     = 0
	zipDeflated   = 8
)

// unzip is the first entry that holds anything. It goes by the headers before
// the entries, not by the directory at the end: an archive may be cut off, or
// come from a pipe.
func unzip(b *bufio.Reader) (io.Reader, error) {
	for {
		var header [zipHeaderLen]byte
		if _, err := io.ReadFull(b, header[:]); err != nil || string(header[:4]) != zipEntry {
			return nil, errors.New("a zip archive without a file in it")
		}
		flags, method := binary.LittleEndian.Uint16(header[6:]), binary.LittleEndian.Uint16(header[8:])
		size := int64(binary.LittleEndian.Uint32(header[18:]))
		names := int(binary.LittleEndian.Uint16(header[26:])) + int(binary.LittleEndian.Uint16(header[28:]))
		if _, err := b.Discard(names); err != nil {
			return nil, fmt.Errorf("a zip archive, cut off: %w", err)
		}
		switch later := flags&zipSizesLater != 0; {
		case size == 0 && !later:
			continue // a folder
		case flags&zipEncrypted != 0:
			return nil, errors.New("a zip archive with a password")
		case method == zipDeflated:
			return flate.NewReader(b), nil
		case method == zipStored && !later:
			return io.LimitReader(b, size), nil
		}
		return nil, fmt.Errorf("a zip archive of method %d; stored and deflated (0 and 8) can be read", method)
	}
}
