package origin_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// In a program or an Example there is no testing.TB: Start returns the error,
// and the caller closes.
func Example() {
	site, err := origin.Start(&origin.Config{
		Page: &origin.Page{Scripts: 2, Images: 1, DelayMin: time.Millisecond, DelayMax: 5 * time.Millisecond},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer site.Close()

	for _, url := range append([]string{site.URL + "/"}, site.Assets()...) {
		resp, err := site.Client().Get(url)
		if err != nil {
			log.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		fmt.Println(resp.Proto, resp.Status, resp.Request.URL.Path)
	}
	for _, c := range site.Log().Connections(netlog.Used()) {
		fmt.Println(c.Requests, "requests over", c.Protocol, "from", c.Issuer)
	}
	// Output:
	// HTTP/2.0 200 OK /
	// HTTP/2.0 200 OK /js/mod001.js
	// HTTP/2.0 200 OK /js/mod002.js
	// HTTP/2.0 200 OK /img/001.svg
	// 4 requests over h2 from wiretest origin CA
}

// A Transport is the caller's to change: here it keeps to two connections, as
// a browser does with six.
func ExampleServer_Transport() {
	counted := origin.Limit{}.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") }))
	site, err := origin.Start(&origin.Config{Handler: counted, ALPN: alpn.Only(alpn.HTTP11)})
	if err != nil {
		log.Fatal(err)
	}
	defer site.Close()

	transport := site.Transport(nil)
	transport.MaxConnsPerHost = 2
	client := &http.Client{Transport: transport}

	done := make(chan error)
	for range 10 {
		go func() {
			resp, err := client.Get(site.URL)
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			done <- err
		}()
	}
	for range 10 {
		if err := <-done; err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(counted.Counts().Peak <= 2, len(site.Log().Requests()), site.Log().Connections(netlog.Used())[0].Protocol)
	// Output: true 10 http/1.1
}

// HTTP/3 is on the same port number as TCP, where the answers say so.
func ExampleServer_HTTP3Transport() {
	site, err := origin.Start(&origin.Config{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello") }),
		HTTP3:   &origin.HTTP3{AltSvc: origin.AltSvc{Port: 443}}, // as behind a port that is mapped
	})
	if err != nil {
		log.Fatal(err)
	}
	defer site.Close()

	for _, over := range []http.RoundTripper{site.Transport(nil), site.HTTP3Transport(nil)} {
		resp, err := (&http.Client{Transport: over}).Get(site.URL)
		if err != nil {
			log.Fatal(err)
		}
		resp.Body.Close()
		fmt.Println(resp.Proto, resp.Header["Alt-Svc"])
	}
	for _, c := range site.Log().Connections() {
		fmt.Println(c.Network, c.Protocol, c.Requests)
	}
	// Output:
	// HTTP/2.0 [h3=":443"; ma=2592000]
	// HTTP/3.0 [h3=":443"; ma=2592000]
	// tcp h2 1
	// udp h3 1
}

// The third request meets a GOAWAY, and is sent again on another connection.
func ExampleFault() {
	site, err := origin.Start(&origin.Config{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") }),
		Faults:  []origin.Fault{{Request: 3, Do: origin.GoAway}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer site.Close()

	for range 5 {
		resp, err := site.Client().Get(site.URL)
		if err != nil {
			log.Fatal(err)
		}
		resp.Body.Close()
	}
	fmt.Println(len(site.Log().Connections(netlog.Used())), "connections,", len(site.Log().Requests(netlog.Status(200))), "answers")
	// Output:
	// 2 connections, 5 answers
}

// A limit is middleware for any server, and counts what passes it.
func ExampleLimit() {
	limit := origin.Limit{Key: origin.ByHeader("Api-Key"), Rate: 2, Per: time.Minute, Refuse: true}.Handler(http.NotFoundHandler())
	for range 3 {
		w := httptest.NewRecorder()
		limit.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		fmt.Println(w.Code, w.Header()["Retry-After"])
	}
	fmt.Println(limit.Counts().Refused, "refused")
	// Output:
	// 404 []
	// 404 []
	// 429 [30]
	// 1 refused
}

// The first connection is closed as soon as the client has spoken; net/http takes
// another one.
func ExampleConnectionFault() {
	site, err := origin.Start(&origin.Config{
		Handler:          http.HandlerFunc(origin.Echo),
		ConnectionFaults: []origin.ConnectionFault{{Connection: 1, Do: origin.HangUp}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer site.Close()

	for range 2 {
		resp, err := site.Client().Get(site.URL)
		if err != nil {
			fmt.Println("no answer")
			continue
		}
		resp.Body.Close()
		fmt.Println(resp.Status)
	}
	fmt.Println(site.Log().Connections()[0].CloseReason)
	// Output:
	// no answer
	// 200 OK
	// closed by a fault
}

// What the page takes is known before it is loaded.
func ExamplePage() {
	page := &origin.Page{Scripts: 1, API: 2, DelayMin: 100 * time.Millisecond, DelayMax: 400 * time.Millisecond}
	for _, path := range page.Paths() {
		fmt.Println(path, page.Delay(path))
	}
	// Output:
	// /js/mod001.js 139ms
	// /api/001 214ms
	// /api/002 239ms
}

// Half of a body comes, and then a reset.
func ExampleBody() {
	site, err := origin.Start(&origin.Config{Handler: origin.Body{Size: 1000, Cut: origin.At(500)}})
	if err != nil {
		log.Fatal(err)
	}
	defer site.Close()

	resp, err := site.Client().Get(site.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	fmt.Println(n, "of", resp.ContentLength, err)
	// Output: 500 of 1000 stream error: stream ID 1; INTERNAL_ERROR; received from peer
}
