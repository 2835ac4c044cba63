// Package ratelimit reads a log of certificates with one, three and six requests
// at a time, over HTTP/2 and HTTP/1.1, from servers with three kinds of limit.
//
//	go test -v ./examples/ratelimit
//
// Somebody changed such a client to HTTP/1.1, saw it go three times as fast, and
// blamed HTTP/2's multiplexing. What had changed was the number of connections:
// three requests at a time take three connections over HTTP/1.1 and one over
// HTTP/2, and the server worked off one request at a time on each. Behind a limit
// per client, or a server that is simply busy, HTTP/1.1 takes several connections
// too, and the log comes no faster. Outcome (entries per second) says that something
// happened; mechanism (connections) says what.
package ratelimit
