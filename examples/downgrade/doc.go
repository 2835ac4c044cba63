// Package downgrade tells the story of a TLS-inspecting proxy that turns HTTP/2
// into HTTP/1.1: a page of 171 requests that takes half a second becomes one
// that takes seven, because six connections now carry what one did, and nearly
// every request waits for its turn. The server was never the problem.
//
//	go test -v ./examples/downgrade
//
// prints the table: the page loaded directly, through a proxy that speaks
// HTTP/1.1 to the client, and through the same proxy with HTTP/2 and 100
// streams; then the ways out. Every figure in it is asserted.
//
// In virtual time the figures are arithmetic. Each of the 170 subresources
// takes a fixed time that depends on its path alone (100 to 398 ms, 42,602 ms in
// all). With a stream for each, the page takes as long as its slowest part: 398
// ms. On six connections, first come first served, 42,602 ms of work take 7,238
// ms. With 100 streams the last 70 wait for a stream: 682 ms.
package downgrade
