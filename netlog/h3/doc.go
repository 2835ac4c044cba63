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
// What is recorded comes from the HTTP/3 layer of quic-go's own qlog events, by
// which every frame of a request stream is counted: bytes of a connection are
// those of HEADERS and DATA frames with their heads (RFC 9114, section 7.2), header
// bytes those of the QPACK blocks, and both sides record the same. QUIC's own
// overhead, and what is sent again, is in neither.
//
// Everything works in a testing/synctest bubble, where counts are exact. Times
// are not quite: quic-go skips packet numbers at random and its goroutines race,
// which moves them by about a millisecond.
package h3
