// Package h3 speaks HTTP/3 over quic-go and records it: what package wire is to
// HTTP/1.1 and HTTP/2. Who imports neither it nor package origin compiles no
// QUIC.
//
// A Server answers by the handler and the faults of a [wire.Server], on sockets
// that it is given:
//
//	server := h3.NewServer(h3.ServerConfig{Wire: engine, TLS: cfg, Open: open})
//	if err := server.Serve(packetConn); err != nil { … }
//	defer server.Close(ctx)
//
// Browser makes of an [http3.Transport] what pageload.Config.HTTP3 wants; a
// Dialer gives one a place in a network:
//
//	page, err := pageload.Load(ctx, &pageload.Config{
//		URL: site.URL, Transport: site.Transport(phone), HTTP3: h3.Browser(site.HTTP3Transport(phone)),
//	})
//
// Connect opens a connection for a [wire.Pool], as a proxy wants it: bodies of requests
// are streamed, and what the server allows is known.
//
// What is recorded comes from the HTTP/3 layer of quic-go's own qlog events, by
// which every frame of a request stream is counted: bytes of a connection are
// those of HEADERS and DATA frames with their heads (RFC 9114, section 7.2), header
// bytes those of the QPACK blocks, and both sides record the same. QUIC's own
// overhead, and what is sent again, is in neither.
//
// Everything works in a testing/synctest bubble; Bubble is one with a watchdog.
// Counts are exact there. Times are nearly: quic-go skips packet numbers at
// random, and its goroutines race. Measured over 100 runs at 100 ms round trip
// (go test -run Counts -repeats 100 ./netlog/h3 -v):
//
//	50 small answers         200 ms, the same in every run
//	the published page       698 ms, the same in every run
//	50 answers of 16 kB      623.6 to 625.7 ms
//
// so where all fits the first window of 32 packets nothing differs, and beyond it
// 0.3 %; with requests issued in no order, 0.4 %, and with GOMAXPROCS=1, 0.1 %. On a
// path that loses packets at random the random packet numbers say which: there
// testing/cryptotest together with GOMAXPROCS=1 is what makes a seed give the same
// figure again, and quantiles over many seeds are what to assert on.
//
// Packets stay at quic-go's 1,280 bytes in memory. Larger ones are refused, since
// its loop spins in virtual time where a path swallows them all.
//
// A stream may stay open for ever on the side that was writing to it when the other
// gave it up: quic-go (v0.65.0) keeps the rest of a Write that waits at that moment,
// and takes the stream for one with something to send. So a server whose clients give
// up answers may lose places of its MaxConcurrentStreams, and with a limit of one the
// next request waits until it is given up too. It takes a Write that waits when
// STOP_SENDING comes, and came up about once in 500 requests that were made for it.
//
// On sockets -race may now and then report quic-go itself, in newFlowController: a
// client that resumes a session opens streams ahead of the handshake, and does so
// while the server's answer is being read (https://github.com/quic-go/quic-go/issues/4303).
// In memory the answer comes when the streams are open.
package h3
