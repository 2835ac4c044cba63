package origin_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog/h3"
	"example.com/wiretest/origin"
)

// What quic-go's client makes of each fault: three requests over HTTP/3, one after
// the other, of which the second meets it. It sends again what was refused, on a
// new connection, which it makes after every error that comes before an answer.
func TestWhatQUICMakesOfFaults(t *testing.T) {
	body := func(b origin.Body) origin.Action {
		return func(w http.ResponseWriter, r *http.Request, _ http.Handler) { b.ServeHTTP(w, r) }
	}
	closed := "connection closed before the answer ended: closed by server: H3_NO_ERROR (0x100)"
	for name, c := range map[string]struct {
		do     origin.Action
		told   string // of the second request; "" is 200 OK hello
		ledger string // of it; "" is well
		conns  int
	}{
		"GoAway":      {origin.GoAway, "", "reset by server: H3_REQUEST_REJECTED (0x10b)", 2},
		"GoAwayWith":  {origin.GoAwayWith(http2.ErrCodeEnhanceYourCalm, "x"), "", "reset by server: H3_REQUEST_REJECTED (0x10b)", 2},
		"GoAwayAt":    {origin.GoAwayAt(0, http2.ErrCodeNo, ""), "", "", 1},
		"LastOne":     {origin.LastOne, "", "", 1},
		"Refuse":      {origin.Refuse, "", "reset by server: H3_REQUEST_REJECTED (0x10b)", 2},
		"Reset":       {origin.Reset, "H3_INTERNAL_ERROR", "reset by server: H3_INTERNAL_ERROR (0x102)", 2},
		"ResetWith":   {origin.ResetWith(http2.ErrCodeEnhanceYourCalm), "H3_EXCESSIVE_LOAD", "reset by server: H3_EXCESSIVE_LOAD (0x107)", 2},
		"HTTP11":      {origin.ResetWith(http2.ErrCodeHTTP11Required), "H3_VERSION_FALLBACK", "reset by server: H3_VERSION_FALLBACK (0x110)", 2},
		"ResetAfter":  {origin.ResetAfter(3, http2.ErrCodeCancel), "200 hel and then H3_REQUEST_CANCELLED", "reset by server: H3_REQUEST_CANCELLED (0x10c)", 1},
		"CloseAfter":  {origin.CloseAfter(3), "H3_NO_ERROR", closed, 2},
		"AbortAfter":  {origin.AbortAfter(3), "H3_NO_ERROR", closed, 2},
		"Hang":        {origin.Hang, "context deadline exceeded", "reset by client: H3_REQUEST_CANCELLED (0x10c)", 1},
		"Settings":    {origin.Settings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1}), "", "", 1},
		"Pings":       {origin.Pings(1000), "", "", 1},
		"CloseBehind": {origin.CloseBehind, "", "", 1},
		"NoContinue":  {origin.NoContinue, "", "", 1},
		"stalled":     {body(origin.Body{Size: 10, Stall: origin.At(4)}), "H3_REQUEST_CANCELLED (local)", "reset by client: H3_REQUEST_CANCELLED (0x10c)", 1},
		"cut":         {body(origin.Body{Size: 10, Cut: origin.At(4)}), "H3_INTERNAL_ERROR", "reset by server: H3_INTERNAL_ERROR (0x102)", 1},
		"short":       {body(origin.Body{Size: 10, Length: 20}), "unexpected EOF", "", 1},
	} {
		h3.Bubble(t, nil, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.RTT(10*time.Millisecond))
			s := origin.New(t, &origin.Config{
				Net: network.Host("origin.test"), HTTP3: new(origin.HTTP3), Handler: hello,
				Faults: []origin.Fault{{Request: 2, Do: c.do}},
			})
			tr := s.HTTP3Transport(network.Host("pc.test"))
			tr.QUICConfig = &quic.Config{EnableStreamResetPartialDelivery: true}
			client := &http.Client{Transport: tr, Timeout: 10 * time.Second}
			for i := range 3 {
				told := askWhole(client, fmt.Sprintf("%s/%d", s.URL, i))
				if i == 1 && c.told != "" {
					assert.Contains(t, told, c.told, name)
				} else {
					assert.Equal(t, "200 hello", told, "%s, request %d", name, i+1)
				}
			}
			assert.Equal(t, c.ledger, s.Log().Requests()[1].Err, name)
			assert.Len(t, s.Log().Connections(), c.conns, name)
		})
	}
}

// askWhole is ask that keeps what came before an error.
func askWhole(client *http.Client, url string) string {
	resp, err := client.Get(url)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body := make([]byte, 100)
	n := 0
	for err == nil && n < len(body) {
		var more int
		more, err = resp.Body.Read(body[n:])
		n += more
	}
	told := fmt.Sprintf("%d %s", resp.StatusCode, body[:n])
	if err.Error() != "EOF" {
		told += " and then " + err.Error()
	}
	return told
}

func TestFaultsOverHTTP3(t *testing.T) {
	leavesNothing(t)
	s := origin.New(t, &origin.Config{HTTP3: &origin.HTTP3{}, Handler: sizedAnswer(5000), Faults: []origin.Fault{
		{Request: 1, Do: origin.Reset},
		{Request: 2, Do: origin.ResetWith(http2.ErrCodeEnhanceYourCalm)},
		{Request: 3, Do: origin.Refuse}, // and so sent again, as the fourth
		{Request: 5, Do: origin.ResetAfter(100, http2.ErrCodeCancel)},
		{Request: 6, Do: origin.LastOne},
		{Request: 7, Do: origin.CloseAfter(100)},
	}})
	client := &http.Client{Transport: s.HTTP3Transport(nil)}
	ask := func() error {
		resp, err := client.Get(s.URL)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.ReadAll(resp.Body)
		return err
	}
	assert.ErrorContains(t, ask(), "H3_INTERNAL_ERROR")
	assert.ErrorContains(t, ask(), "H3_EXCESSIVE_LOAD")
	assert.NoError(t, ask())
	assert.ErrorContains(t, ask(), "H3_REQUEST_CANCELLED")
	assert.NoError(t, ask())
	awaitEnds(t, s) // for what is next closes the connection
	assert.Error(t, ask())
	require.NoError(t, s.Close())
	errs := []string{}
	for _, q := range s.Log().Requests() {
		errs = append(errs, q.Err)
	}
	assert.Equal(t, []string{
		"reset by server: H3_INTERNAL_ERROR (0x102)",
		"reset by server: H3_EXCESSIVE_LOAD (0x107)",
		"reset by server: H3_REQUEST_REJECTED (0x10b)",
		"",
		"reset by server: H3_REQUEST_CANCELLED (0x10c)",
		"",
		"connection closed before the answer ended: closed by server: H3_NO_ERROR (0x100)",
	}, errs)
}

func TestClientThatCancelsOverHTTP3(t *testing.T) {
	leavesNothing(t)
	over := make(chan error, 1)
	s := origin.New(t, &origin.Config{HTTP3: &origin.HTTP3{}, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
		over <- r.Context().Err()
	})})
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := s.HTTP3Transport(nil).RoundTrip(must(http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)))
	require.NoError(t, err)
	cancel()
	assert.ErrorIs(t, <-over, context.Canceled)
	resp.Body.Close()
	require.NoError(t, s.Close())
	assert.Equal(t, "reset by client: H3_REQUEST_CANCELLED (0x10c)", s.Log().Requests()[0].Err)
}
