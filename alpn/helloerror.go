package alpn

import "fmt"

// HelloError says why a stream gave no ClientHello, or no ServerHello.
type HelloError struct {
	Offset int    // byte of the stream that is wrong, or where it ended
	Looks  string // what the stream looks like, one of the Looks constants; "" is a hello, damaged or cut
	Reason string // what is wrong there
	Err    error  // of Read; nil if the bytes themselves are wrong

	message string // what was looked for
}

// Error says which hello, at which byte, and what is wrong there.
func (e *HelloError) Error() string {
	s := fmt.Sprintf("alpn: %s: byte %d: %s", e.message, e.Offset, e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap is the error of Read.
func (e *HelloError) Unwrap() error { return e.Err }
