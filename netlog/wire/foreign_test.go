package wire_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// A request of another protocol meets the Server's faults and handler, which is
// told whose it is, and Close waits for it.
func TestForeignRequests(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	log := new(netlog.Log)
	conn := log.Open(netlog.Connection{})
	var resets []http2.ErrCode
	server := wire.NewServer(wire.ServerConfig{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			assert.Same(t, conn, wire.ConnectionOf(r))
			assert.Equal(t, r.URL.Path, wire.RequestOf(r).Request().URL)
			assert.Nil(t, wire.StreamOf(r))
			assert.Nil(t, wire.ControlOf(r))
			if r.URL.Path == "/stubborn" {
				close(entered)
				<-release
			}
		}),
		Faults: []wire.Fault{{Request: 2, Do: wire.Refuse}, {Request: 3, Do: wire.GoAway}, {Request: 4, Do: wire.LastOne}},
	})
	serve := func(path string) (failure any) {
		defer func() { failure = recover() }()
		r := httptest.NewRequest(http.MethodGet, path, nil)
		w := httptest.NewRecorder()
		server.ServeForeign(&wire.Foreign{
			Connection: conn, Request: conn.Request(netlog.Request{URL: path}),
			Reset: func(code http2.ErrCode) { resets = append(resets, code) },
			Close: func() { t.Error("closed") },
		}, w, r)
		assert.Empty(t, w.Result().Header.Get("Connection"), "a field of HTTP/1.1")
		return nil
	}
	assert.Nil(t, serve("/1"))
	assert.Equal(t, http.ErrAbortHandler, serve("/2"))
	assert.Equal(t, http.ErrAbortHandler, serve("/3"))
	assert.Nil(t, serve("/4"))
	assert.Equal(t, []http2.ErrCode{http2.ErrCodeRefusedStream, http2.ErrCodeRefusedStream}, resets)

	done := make(chan any)
	go func() { done <- serve("/stubborn") }()
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	assert.ErrorContains(t, server.Close(ctx), "still running: GET /stubborn")
	close(release)
	assert.Nil(t, <-done)
	require.NoError(t, server.Close(t.Context()))
	assert.Equal(t, http.ErrAbortHandler, serve("/late"), "after Close")
}
