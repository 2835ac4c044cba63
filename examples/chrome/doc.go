// Package chrome loads the page of examples/downgrade in a real browser: 171
// requests, directly, through a proxy that speaks HTTP/1.1 to the client, and
// through the same proxy with HTTP/2 and 100 streams.
//
//	go test -v ./examples/chrome
//
// prints the published figures beside those of this machine. They are read from
// the browser's own NetLog, as they would be read from one that a user sends;
// and here two more witnesses tell of the same run: the fixtures' ledger, which
// is the other end of the same connections, and Resource Timing, which is what
// the page itself can see. All three must agree, request by request and
// connection by connection.
//
// A browser takes time of its own for a page, more than a second on a busy
// machine, so the direct load is slower than its slowest part, 398 ms. The
// downgrade shows all the same: over six connections the page takes at least 7,238
// ms, whatever the browser does.
//
// The page is also loaded over HTTP/3, to which the browser is forced, and behind
// a proxy of CONNECT, with which it leaves HTTP/3 unused however often it is
// told of it.
//
// Without a browser the tests are skipped, and say which Debian package brings
// one; with WIRETEST_REQUIRE_TOOLS set they fail.
package chrome
