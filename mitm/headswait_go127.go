//go:build go1.27

package mitm

// headsWait says that net/http holds a lock while it reads the body of a request with
// Expect: 100-continue, and takes it to send the head of the answer. Time in a bubble
// stands still while somebody waits for a lock, so the proxy waits itself.
const headsWait = true
