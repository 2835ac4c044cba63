package netlog_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/wiretest/netlog"
)

// inMemory serves handler in a bubble and returns a transport to it; stop ends
// all.
func inMemory(cfg *tls.Config, handler http.Handler) (*http.Transport, func()) {
	listener := newMemory()
	srv := &http.Server{Handler: handler, TLSConfig: cfg, ErrorLog: log.New(io.Discard, "", 0)}
	done := make(chan struct{})
	go func() { // ends by stop, which waits
		defer close(done)
		if cfg == nil {
			srv.Serve(listener)
		} else {
			srv.ServeTLS(listener, "", "")
		}
	}()
	return &http.Transport{DialContext: listener.DialContext}, func() {
		srv.Close()
		listener.Close()
		<-done
	}
}

// dialsIn has each dial take that long.
func dialsIn(base *http.Transport, took time.Duration) {
	dial := base.DialContext
	base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		time.Sleep(took)
		return dial(ctx, network, addr)
	}
}

// Twenty requests that take 100 ms each over six connections: the figures of a
// queue, to the nanosecond.
func TestStallsOfMaxConnsPerHostInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(100 * time.Millisecond)
			io.WriteString(w, "done")
		})
		base, stop := inMemory(nil, work)
		defer stop()
		base.MaxConnsPerHost, base.MaxIdleConnsPerHost = 6, 6
		log := netlog.New(t)
		client := &http.Client{Transport: netlog.NewTransport(base, log)}
		defer client.CloseIdleConnections()
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() { get(t, client, fmt.Sprintf("http://a.test/%d", i)) })
			synctest.Wait()
		}
		wg.Wait()
		netlog.RequireConnections(t, log, 6, "http/1.1")
		stalls := log.Stalls(netlog.Host("a.test:80"))
		equal(t, "stalls", len(stalls), 14)
		equal(t, "longest", stalls.Max(), 300*time.Millisecond)
		equal(t, "in all", stalls.Total(), (6*100+6*200+2*300)*time.Millisecond)
		for i, s := range stalls {
			equal(t, "kind", s.Kind, netlog.StalledMaxSocketsPerGroup)
			equal(t, "URL", s.URL, fmt.Sprintf("http://a.test/%d", 6+i))
			equal(t, "wait", log.Requests()[s.Request-1].Wait, s.Duration)
		}
		q := log.Requests()[19]
		equal(t, "time to first byte", q.TimeToFirstByte(), 100*time.Millisecond)
		equal(t, "end", q.End.Sub(q.Start), 400*time.Millisecond)
	})
}

// Without keep-alive a request that was queued dials for itself.
func TestStallsThatEndInADial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { time.Sleep(100 * time.Millisecond) })
		base, stop := inMemory(nil, work)
		defer stop()
		base.MaxConnsPerHost, base.DisableKeepAlives = 2, true
		dialsIn(base, 10*time.Millisecond) // a wait for one's own dial is no stall
		log := netlog.New(t)
		client := &http.Client{Transport: netlog.NewTransport(base, log)}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { get(t, client, "http://a.test/") })
			synctest.Wait()
		}
		wg.Wait()
		stalls := log.Stalls()
		equal(t, "stalls", len(stalls), 2)
		equal(t, "longest", stalls.Max(), 110*time.Millisecond)
		equal(t, "shortest", stalls.Total()-stalls.Max(), 110*time.Millisecond)
		equal(t, "wait with the dial", log.Requests()[3].Wait, 120*time.Millisecond)
	})
}

func TestStallThatIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, stop := inMemory(nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { time.Sleep(time.Second) }))
		defer stop()
		base.MaxConnsPerHost = 1
		log := netlog.New(t)
		client := &http.Client{Transport: netlog.NewTransport(base, log)}
		defer client.CloseIdleConnections()
		var wg sync.WaitGroup
		wg.Go(func() { get(t, client, "http://a.test/") })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, "GET", "http://a.test/", nil)
		if _, err := client.Do(req); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		wg.Wait()
		equal(t, "stalls", len(log.Stalls()), 1)
		equal(t, "longest", log.Stalls().Max(), 300*time.Millisecond)
		equal(t, "not used by it", log.Requests()[1].Connection == nil, true)
	})
}

// Requests one after the other never wait for a limit, however low. On sockets a
// busy machine may have net/http give up a connection in between.
func TestNoStallWithoutAQueue(t *testing.T) {
	certificate := serve(t, "https", page).TLS.Certificates
	for protocol, cfg := range map[string]*tls.Config{
		"http/1.1 in the clear": nil,
		"http/1.1":              {Certificates: certificate, NextProtos: []string{"http/1.1"}},
		"h2":                    {Certificates: certificate, NextProtos: []string{"h2"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			base, stop := inMemory(cfg, page)
			defer stop()
			url := "http://a.test/"
			if cfg != nil {
				base.TLSClientConfig, base.ForceAttemptHTTP2 = &tls.Config{InsecureSkipVerify: true}, true
				url = "https://a.test/"
			}
			base.MaxConnsPerHost = 1
			log := netlog.New(t)
			client := &http.Client{Transport: netlog.NewTransport(base, log)}
			defer client.CloseIdleConnections()
			for range 50 {
				get(t, client, url)
			}
			equal(t, protocol+" stalls", log.Stalls(), "no stalls\n")
			equal(t, protocol+" connections", len(log.Connections()), 1)
		})
	}
}

func TestNoStallOnAnH2ConnectionThatIsThere(t *testing.T) {
	srv := serve(t, "h2", page)
	client, log := recorded(t, srv, func(tr *http.Transport) { tr.MaxConnsPerHost = 1 })
	get(t, client, srv.URL)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { get(t, client, srv.URL) })
	}
	wg.Wait()
	equal(t, "stalls", log.Stalls(), "no stalls\n")
}

// The requests that come while the one connection is dialled wait for it; those
// that come later share it at once.
func TestStallForTheOneH2Connection(t *testing.T) {
	certificate := serve(t, "https", page).TLS.Certificates
	synctest.Test(t, func(t *testing.T) {
		base, stop := inMemory(&tls.Config{Certificates: certificate, NextProtos: []string{"h2"}}, page)
		defer stop()
		base.MaxConnsPerHost, base.ForceAttemptHTTP2 = 1, true
		base.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
		dialsIn(base, 50*time.Millisecond)
		log := netlog.New(t)
		client := &http.Client{Transport: netlog.NewTransport(base, log)}
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { get(t, client, "https://a.test/") })
			synctest.Wait()
		}
		wg.Wait()
		time.Sleep(time.Second)
		for range 5 {
			wg.Go(func() { get(t, client, "https://a.test/") })
		}
		wg.Wait()
		netlog.RequireConnections(t, log, 1, "h2")
		equal(t, "stalls", len(log.Stalls()), 4)
		equal(t, "longest", log.Stalls().Max(), 50*time.Millisecond)
		client.CloseIdleConnections()
		synctest.Wait()
		equal(t, "why closed", log.Connections()[0].CloseReason, "closed by this side")
	})
}
