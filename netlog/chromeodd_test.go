package netlog_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/netlog"
)

// upgraded is how a WebSocket goes: its request ends by ERR_WS_UPGRADE, which is
// how Chromium says that the connection went over to it.
const upgraded = `
	7 URL_REQUEST#1 - HTTP_TRANSACTION_READ_RESPONSE_HEADERS {"headers":["HTTP/1.1 101 Switching Protocols","Upgrade: websocket"]}
	7 URL_REQUEST#1 - CANCELLED {"net_error":-173}
	7 URL_REQUEST#1 E REQUEST_ALIVE {"net_error":-173}
`

// TestChromeWebSocket: an upgrade is no failure, and what was begun and over in
// one millisecond was in flight.
func TestChromeWebSocket(t *testing.T) {
	log := readScript(t, opening("")+sendH1+upgraded)
	q, c := onlyRequest(t, log), onlyConnection(t, log)
	assert.Empty(t, q.Err)
	assert.Equal(t, 101, q.Status)
	assert.Equal(t, 1, c.MaxStreams)
}

// TestWebSocketIsNoDowngrade: for one, browsers offer http/1.1 alone, although
// the host speaks h2.
func TestWebSocketIsNoDowngrade(t *testing.T) {
	log := new(netlog.Log)
	const host = "a.test:443"
	log.Open(netlog.Connection{Host: host, TLSVersion: 0x304, ALPN: "h2", Protocol: "h2"})
	socket := log.Open(netlog.Connection{Host: host, TLSVersion: 0x304, ALPN: netlog.NoALPN, Protocol: "http/1.1", Offered: []string{"http/1.1"}})
	socket.Request(netlog.Request{URL: "wss://a.test/"})
	assert.Empty(t, log.Findings())

	byFixture := log.Open(netlog.Connection{Host: host, TLSVersion: 0x304, ALPN: "http/1.1", Protocol: "http/1.1"})
	byFixture.Request(netlog.Request{URL: "https://a.test/", Status: 101})
	assert.Empty(t, log.Findings(), "as a fixture records it")

	byFixture.Request(netlog.Request{URL: "https://a.test/", Status: 200})
	found := log.Findings()
	require.Len(t, found, 1)
	assert.Equal(t, netlog.FoundDowngrade, found[0].Kind)
	assert.Equal(t, 1, found[0].Evidence[1].Count, "the WebSocket is no evidence: %v", found)
}

// TestChromeCancelled: a request that was given up before its answer, or within
// it, failed; one that was all there did not.
func TestChromeCancelled(t *testing.T) {
	const cancelled = "\n19 URL_REQUEST#1 - CANCELLED\n"
	for name, c := range map[string]struct{ events, want string }{
		"before the answer": {sendH1, "ERR_ABORTED"},
		"within the answer": {sendH1 + answered + "\n9 URL_REQUEST#1 B HTTP_TRANSACTION_READ_BODY\n", "ERR_ABORTED"},
		"when all was read": {sendH1 + answered, ""},
	} {
		q := onlyRequest(t, readScript(t, opening("")+c.events+cancelled+over))
		assert.Equal(t, c.want, q.Err, name)
	}
}

// TestChromeURL is without user and fragment, however much was captured.
func TestChromeURL(t *testing.T) {
	for said, want := range map[string]string{
		"https://a.test/x (credentials redacted)": "https://a.test/x",
		"https://user:p@ss@a.test/x?y=@z":         "https://a.test/x?y=@z",
		"https://user@a.test":                     "https://a.test",
		"https://a.test/x#part":                   "https://a.test/x",
		"https://a.test/x@y":                      "https://a.test/x@y",
		"about:blank":                             "about:blank",
	} {
		log := readScript(t, `
			1 URL_REQUEST#1 B REQUEST_ALIVE {"url":"`+said+`"}
			1 URL_REQUEST#1 B URL_REQUEST_START_JOB {"url":"`+said+`","method":"GET"}
			1 URL_REQUEST#1 B HTTP_STREAM_REQUEST
			2 URL_REQUEST#1 - HTTP2_SESSION_POOL_FOUND_EXISTING_SESSION {@50}
			2 URL_REQUEST#1 E HTTP_STREAM_REQUEST
			3 HTTP2_SESSION#50 - HTTP2_SESSION_STALLED_MAX_STREAMS {"url":"`+said+`"}
			7 URL_REQUEST#1 - HTTP_TRANSACTION_HTTP2_SEND_REQUEST_HEADERS`)
		assert.Equal(t, want, onlyRequest(t, log).URL)
		require.Len(t, log.Stalls(), 1)
		assert.Equal(t, want, log.Stalls()[0].URL)
	}
}
