package netlog_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"example.com/wiretest/netlog"
)

func TestAnswerWithoutBodyEndsAtOnce(t *testing.T) {
	for _, scheme := range []string{"http", "h2"} {
		srv := serve(t, scheme, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/204":
				w.WriteHeader(http.StatusNoContent)
			case "/304":
				w.WriteHeader(http.StatusNotModified)
			case "/head":
				w.Header().Set("Content-Length", "100")
			}
		}))
		client, log := recorded(t, srv, nil)
		for _, c := range []struct{ method, path string }{{"GET", "/204"}, {"GET", "/304"}, {"GET", "/empty"}, {"HEAD", "/head"}} {
			req, _ := http.NewRequest(c.method, srv.URL+c.path, nil)
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			all := log.Requests()
			if q := all[len(all)-1]; q.End.IsZero() {
				t.Errorf("%s %s: still runs", scheme, c.path)
			}
			resp.Body.Close()
		}
	}
}

func TestTransportKeepsTheResponse(t *testing.T) {
	srv := serve(t, "h2", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "Grpc-Status")
		io.WriteString(w, "hello")
		w.Header().Set("Grpc-Status", "0")
	}))
	client, _ := recorded(t, srv, nil)
	req, _ := http.NewRequest("GET", srv.URL, nil)
	resp, err := client.Transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	io.ReadAll(resp.Body)
	if resp.Request != req {
		t.Error("the response is to another request")
	}
	equal(t, "trailer", resp.Trailer.Get("Grpc-Status"), "0")
	equal(t, "offered", resp.Body.(interface{ OfferedALPN() []string }).OfferedALPN(), "[h2 http/1.1]")
}

func TestEarlyHintsAreNotTheFirstByte(t *testing.T) {
	for _, scheme := range []string{"https", "h2"} {
		t.Run(scheme, func(t *testing.T) {
			sent := make(chan time.Time, 1)
			release := make(chan struct{})
			srv := serve(t, scheme, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for range 20 {
					w.Header().Set("Link", "</style.css>; rel=preload")
					w.WriteHeader(http.StatusEarlyHints)
				}
				<-release
				sent <- time.Now()
				io.WriteString(w, "hello")
			}))
			client, log := recorded(t, srv, nil)
			seen := 0
			req, _ := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
				Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
					if seen++; seen == 20 {
						close(release)
					}
					return nil
				},
			}), "GET", srv.URL, nil)
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			io.ReadAll(resp.Body)
			resp.Body.Close()
			q := log.Requests()[0]
			if at := <-sent; q.Status != 200 || q.FirstByte.Before(at) {
				t.Errorf("status %d, first byte %v before it was sent", q.Status, at.Sub(q.FirstByte))
			}
		})
	}
}

// To listen for informational answers must not lift net/http's limit on them.
func TestInformationalAnswersStayLimited(t *testing.T) {
	for _, scheme := range []string{"https", "h2"} {
		srv := serve(t, scheme, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Link", strings.Repeat("x", 1000))
			for range 20 {
				w.WriteHeader(http.StatusEarlyHints)
			}
		}))
		client, _ := recorded(t, srv, func(tr *http.Transport) { tr.MaxResponseHeaderBytes = 10000 })
		if resp, err := client.Get(srv.URL); err == nil {
			resp.Body.Close()
			t.Errorf("%s: no error", scheme)
		}
	}
}

func TestUpgradedConnectionCanBeWritten(t *testing.T) {
	srv := serve(t, "https", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "echo")
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		line, _ := rw.ReadString('\n')
		io.WriteString(conn, line)
	}))
	client, log := recorded(t, srv, nil)
	req, _ := http.NewRequest("GET", srv.URL, nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	rwc, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		t.Fatalf("body %T cannot be written", resp.Body)
	}
	io.WriteString(rwc, "line\n")
	if half, ok := rwc.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
		t.Error("cannot be half closed")
	}
	echoed, err := io.ReadAll(rwc)
	equal(t, "echoed", fmt.Sprintf("%q %v", echoed, err), `"line\n" <nil>`)
	rwc.Close()
	equal(t, "status", log.Requests(netlog.Status(101))[0].Status, 101)
	equal(t, "closed", !log.Connections()[0].Closed.IsZero(), true)
}
