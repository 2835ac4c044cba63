// Package pageload loads a web page as a browser schedules it: the document
// first, then everything that it names, over at most six HTTP/1.1 connections
// to a host or over one HTTP/2 connection whose stream limit it keeps by a queue
// of its own, first come first served.
//
//	page, err := pageload.Load(ctx, &pageload.Config{
//		URL:       site.URL,
//		Transport: proxy.Transport(nil), // says how to dial, which proxy, whom to trust
//	})
//	if err != nil {
//		t.Fatal(err)
//	}
//	t.Log(page.Duration, page.Log.Stalls().Median())
//	netlog.RequireConnections(t, page.Log, 1, alpn.H2)
//
// Inside a testing/synctest bubble a load takes no real time and gives the same
// figures every run: requests are asked for in the order of the document, one
// nanosecond of virtual time apart, so a duration carries some nanoseconds that
// a test truncates.
//
// What a document names is the src of script, img, iframe, audio, video, source and
// embed, and the href of a link to a stylesheet, a preload, a modulepreload or an icon.
//
// HTTP/3 is used as browsers do, if Config.HTTP3 says how: by TCP first, and by
// what an answer's Alt-Svc names from then on. An alternative whose handshake
// fails is broken, for five minutes at first, and the request goes by TCP. A
// request that fails after the handshake fails, unless the server has rejected it.
// Each such decision is a note in the log.
//
// What a browser does and this package does not: it runs no script, follows nothing
// that is named elsewhere than in the document, such as a frame's pictures or a srcset,
// keeps no cache and no cookies, gives no request a priority, and every load begins
// with no connection open.
package pageload
