package mitm

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
)

// failure is an error that an atomic.Pointer can hold.
type failure struct{ error }

// bare leaves out of an error what the message around it says already: the
// operation, the network and the addresses.
func bare(err error) error {
	var call *os.SyscallError
	var op *net.OpError
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return &worded{dns.Err, dns}
	case errors.As(err, &call):
		return call.Err
	case errors.As(err, &op) && op.Op != "remote error" && op.Err != nil:
		return op.Err
	case err == io.EOF:
		return errors.New("the origin closed the connection")
	}
	return err
}

// worded is an error in fewer words.
type worded struct {
	words string
	error
}

func (w *worded) Error() string { return w.words }
func (w *worded) Unwrap() error { return w.error }

// unanswered is why a RoundTrip gave no answer.
func unanswered(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errStopped) {
		return errors.New("the origin closed the connection before it answered")
	}
	if inner := errors.Unwrap(err); inner != nil {
		err = inner // without "wire: client" and the protocol
	}
	return bare(err)
}

// oneLine is an error as it fits a line of a table, or a body of one line.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// refuse answers in the proxy's own name, with the reason in one line.
func refuse(w http.ResponseWriter, status int, err error) {
	body := "mitm: " + oneLine(err) + "\n"
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Length", fmt.Sprint(len(body)))
	w.WriteHeader(status)
	io.WriteString(w, body) // the body of a HEAD request's answer is dropped by net/http
}
