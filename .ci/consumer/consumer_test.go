// Package consumer is a module outside the tree, as a user of the library has
// one: it imports wiretest by replace and runs the test that the README shows.
package consumer

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"example.com/wiretest/alpn"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

func TestOneConnectionThroughTheInspectingProxy(t *testing.T) {
	site := origin.New(t, nil)
	proxy := mitm.New(t, &mitm.Config{RootCAs: site.CA().Pool()})
	load(t, proxy.Client(), site)
	netlog.RequireConnections(t, proxy.Log(), 1, alpn.H2, mitm.Downstream, netlog.Used())
}

// The same with a proxy that speaks HTTP/1.1 to its clients: RequireConnections
// must fail, and say why.
func TestDowngradeIsNoticed(t *testing.T) {
	site := origin.New(t, nil)
	proxy := mitm.New(t, &mitm.Config{RootCAs: site.CA().Pool(), Downstream: mitm.Leg{ALPN: alpn.Only(alpn.HTTP11)}})
	tr := proxy.Transport(nil)
	tr.MaxConnsPerHost = 6
	load(t, &http.Client{Transport: tr}, site)
	failed := &failure{TB: t}
	netlog.RequireConnections(failed, proxy.Log(), 1, alpn.H2, mitm.Downstream, netlog.Used())
	if want := "want 1 connection over h2, got 6 over http/1.1"; !strings.Contains(failed.text, want) {
		t.Errorf("failure %q does not contain %q", failed.text, want)
	}
}

// load gets the page and then, all at once, what is on it.
func load(t *testing.T, client *http.Client, site *origin.Server) {
	t.Helper()
	get(t, client, site.URL)
	var wg sync.WaitGroup
	for _, url := range site.Assets() {
		wg.Go(func() { get(t, client, url) })
	}
	wg.Wait()
}

func get(t *testing.T, client *http.Client, url string) {
	resp, err := client.Get(url)
	if err != nil {
		t.Error(err)
		return
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Error(err)
	}
}

// failure is a testing.TB that keeps what it is told.
type failure struct {
	testing.TB
	text string
}

func (f *failure) Helper()                         {}
func (f *failure) Fatal(args ...any)               { f.text += fmt.Sprint(args...) }
func (f *failure) Fatalf(form string, args ...any) { f.text += fmt.Sprintf(form, args...) }
func (f *failure) Errorf(form string, args ...any) { f.text += fmt.Sprintf(form, args...) }
