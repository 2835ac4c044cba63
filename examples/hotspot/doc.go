// Package hotspot is a phone's hotspot on which a site is sometimes fast and
// sometimes stuck, and the site is one that serves HTTP/3.
//
//	go test -v ./examples/hotspot
//
// A browser comes by TCP, is told by Alt-Svc that there is HTTP/3, and switches.
// On a path that loses full-size datagrams and lets small ones pass, the handshake
// succeeds, small answers are as quick as ever, and so are the headers of a large
// one; its body comes late or never. Nothing falls back: browsers do so when the
// handshake fails, and it did not. Time to first byte and time to download are
// apart here, because they tell the two halves of that story.
//
// In virtual time a body that takes 9.4 s, or dies with the idle timeout after
// 30, takes milliseconds. Counts are exact, and times to within a millisecond or
// two percent, which is what quic-go's goroutines and its random packet numbers
// leave open.
package hotspot
