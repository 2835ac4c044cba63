package wire_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/netlog/wire"
)

func TestHeldSettings(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		p := &pair{t: t, world: w, spoken: spoken{"h2c", "h2", false}}
		p.config.MaxConcurrentStreams = 2
		p.config.Prepare = func(c *wire.Control) { c.HoldSettings(3 * time.Second) }
		p.start(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
		c := p.strictClient()
		begin := time.Now()
		for id := uint32(1); id <= 5; id += 2 {
			c.asks(id, "POST", "/", false)
		}
		require.Equal(t, http2.ErrCodeRefusedStream, c.wasReset(5), "sent before the limit was known")
		require.Equal(t, 3*time.Second, time.Since(begin))
		c.data(1, true, "one")
		c.data(3, true, "three")
		require.Equal(t, "one", string(c.over(1).body))
		require.Equal(t, "three", string(c.over(3).body))
		require.Contains(t, c.all()[0], "SETTINGS 0 [")
	})
}

func TestHeldSettingsAreReleased(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		p := &pair{t: t, world: w, spoken: spoken{"h2c", "h2", false}}
		p.config.Prepare = func(c *wire.Control) { c.HoldSettings(0) }
		p.start(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/release" {
				wire.ControlOf(r).ReleaseSettings()
			}
			hello(w, r)
		})
		c := p.strictClient()
		c.asks(1, "GET", "/", true)
		c.asks(3, "GET", "/release", true)
		require.Equal(t, "hello", string(c.over(3).body))
		require.Equal(t, "hello", string(c.over(1).body))
	})
}

func TestHeldSettingsEndWithTheConnection(t *testing.T) {
	for _, d := range []time.Duration{0, time.Nanosecond, time.Hour} {
		eachWorld(t, func(t *testing.T, w *world) {
			p := &pair{t: t, world: w, spoken: spoken{"h2", "h2", true}}
			p.config.Prepare = func(c *wire.Control) { c.HoldSettings(d) }
			p.start(hello)
			patience := 20 * time.Millisecond
			if d == time.Nanosecond {
				patience = time.Minute
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			_, err := p.client().RoundTrip(p.get("/").WithContext(ctx), nil)
			require.Equal(t, d != time.Nanosecond, err != nil, "%v", err)
		})
	}
}

// The timer that lets settings go may be who closes the connection then, and must
// not wait for itself.
func TestHeldSettingsEndWithACloseBehindTheAnswer(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		p := &pair{t: t, world: w, spoken: spoken{"h2", "h2", true}}
		p.config.Prepare = func(c *wire.Control) { c.HoldSettings(3 * time.Second) }
		p.config.Faults = []wire.Fault{{Do: wire.CloseBehind}}
		p.start(hello)
		client, begin := p.client(), time.Now()
		resp, err := client.RoundTrip(p.get("/"), nil)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, "hello", string(body))
		<-client.Closed()
		require.Equal(t, 3*time.Second, time.Since(begin))
	})
}

// Whoever speaks over a Tap may close it beside its owner.
func TestTapWithHeldSettingsIsClosedTwice(t *testing.T) {
	for _, d := range []time.Duration{0, time.Hour} {
		near, far := net.Pipe()
		defer far.Close()
		tap := wire.NewTap(near, wire.TapConfig{Side: wire.ServerSide, Protocol: "h2"})
		require.NoError(t, tap.Control().HoldSettings(d))
		require.NoError(t, tap.Close())
		require.NoError(t, tap.Close())
	}
}

func TestFurtherSettings(t *testing.T) {
	bent(t, func(w http.ResponseWriter, r *http.Request) {
		c := wire.ControlOf(r)
		errs := []error{
			c.SendSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10 << 10}),
			c.SendSettings(),
			c.Ping([8]byte{1, 2, 3}),
			c.SendSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 100}),
			c.SendSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 2 << 20}),
			c.SendSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 1 << 20}),
			c.SendSettings(http2.Setting{ID: http2.SettingEnablePush, Val: 7}),
		}
		io.Copy(io.Discard, r.Body)
		for _, err := range errs {
			fmt.Fprintln(w, err)
		}
	}, func(t *testing.T, p *pair, c *strict) {
		c.got("SETTINGS 0 ACK")
		c.asks(1, "POST", "/", false)
		c.got("SETTINGS 0 [MAX_CONCURRENT_STREAMS = 1] [INITIAL_WINDOW_SIZE = 10240]")
		c.got("PING 0")
		for i := range 3 { // more than the new window has, as it opens
			c.data(1, false, strings.Repeat("d", 5<<10))
			c.until("a wider window", func() bool { return count(c.frames, "WINDOW_UPDATE 1") > i })
		}
		c.data(1, true, "")
		require.Equal(t, `<nil>
<nil>
<nil>
wire: control: SendSettings: INITIAL_WINDOW_SIZE = 100: net/http can keep 8192 to 1048576
wire: control: SendSettings: INITIAL_WINDOW_SIZE = 2097152: net/http can keep 8192 to 1048576
wire: control: SendSettings: HEADER_TABLE_SIZE = 1048576: net/http can keep 0 to 4096
wire: control: SendSettings: ENABLE_PUSH = 7: connection error: PROTOCOL_ERROR
`, string(c.over(1).body))
		require.Equal(t, 1, p.serverLog.Connections()[0].StreamLimit)
	})
}

// TestSettingsBeforeNetHTTPs wants SETTINGS that were asked for first behind
// those of net/http, and the right acknowledgement kept from it.
func TestSettingsBeforeNetHTTPs(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		p := &pair{t: t, world: w, spoken: spoken{"h2c", "h2", false}}
		p.config.MaxConcurrentStreams = 1
		p.config.Prepare = func(c *wire.Control) {
			c.SendSettings(http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: 5000})
		}
		p.start(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
		c := p.strictClient()
		c.got("SETTINGS 0 [MAX_HEADER_LIST_SIZE = 5000]")
		require.Contains(t, c.all()[0], "[MAX_CONCURRENT_STREAMS = 1]")
		c.asks(1, "POST", "/", false)
		c.got("SETTINGS 0 ACK")
		c.asks(3, "GET", "/", true)
		require.NotEmpty(t, c.wasReset(3).String())
		c.data(1, true, "echo")
		require.Equal(t, "echo", string(c.over(1).body))
	})
}
