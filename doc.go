// Package wiretest is the root of a library of composable test fixtures for
// programs that speak HTTP: origins, intercepting proxies, links with delay,
// certificate authorities, and one record of what was negotiated and how many
// connections it took.
//
// The root package holds no code. Import what a test needs:
//
//   - [example.com/wiretest/origin] is the server, of HTTP/1.1, HTTP/2
//     and HTTP/3, with a page of hashed delays
//   - [example.com/wiretest/origin/pageload] loads that page as a browser does
//   - [example.com/wiretest/mitm] is the intercepting proxy, and
//     [example.com/wiretest/mitm/h3] has it speak HTTP/3
//   - [example.com/wiretest/linkdelay] is the network, on sockets or in memory
//   - [example.com/wiretest/ca] is the certificate authority
//   - [example.com/wiretest/alpn] says what a side offers and accepts, and asks
//     any server what it selects; [example.com/wiretest/alpn/probeh3] asks over QUIC
//   - [example.com/wiretest/netlog] is the record, and the assertions on it; it
//     reads and writes Chrome's NetLog
//   - [example.com/wiretest/netlog/chrome] runs a headless Chromium
//   - [example.com/wiretest/netlog/h3] puts HTTP/3 into the record, and
//     [example.com/wiretest/netlog/wire] is the engine of the rest
//
// The same fixtures run on loopback sockets, for real clients, and inside a
// testing/synctest bubble, where time is virtual and figures are exact.
package wiretest
