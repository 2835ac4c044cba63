package netlog_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"example.com/wiretest/netlog"
)

// FuzzRead: whatever events say, they are understood into a Log that can be
// asked everything.
func FuzzRead(f *testing.F) {
	f.Add([]byte(script(opening(`,"next_proto":"h2"`) + sendH1 + answered + over)))
	f.Add([]byte(script(`
		1 SOCKET#4 - SSL_HANDSHAKE_MESSAGE_SENT {"type":1,"bytes":"AQAAJgMD"}
		1 SOCKET#4 E SSL_CONNECT {"version":"TLS 1.3"}
		1 QUIC_SESSION#7 - QUIC_SESSION_CRYPTO_FRAME_RECEIVED {"encryption_level":"ENCRYPTION_HANDSHAKE","offset":0,"bytes":"CAAADwANABAABQADAmgyCwAACAAAAAQAAAEw"}
		1 HTTP_SERVER_PROPERTIES#8 - HTTP_SERVER_PROPERTIES_UPDATE_PREFS {"servers":[{"server":"https://a.test","supports_spdy":true,"alternative_service":[{"port":1,"protocol_str":"quic"}]}],"broken_alternative_services":[{"host":"a.test","port":1}]}
		2 URL_REQUEST#1 - HTTP_TRANSACTION_READ_RESPONSE_HEADERS {"headers":["HTTP/1.1 200","alt-svc: h3=\":1\""]}
		2 HTTP_STREAM_POOL_GROUP#5 - HTTP_STREAM_POOL_GROUP_HANDLE_CREATED {@4}
		2 HTTP_STREAM_POOL_ATTEMPT_MANAGER#6 - HTTP_STREAM_POOL_ATTEMPT_MANAGER_CAN_ATTEMPT_TCP {"can_attempt":4}
		2 HTTP2_SESSION#9 - HTTP2_SESSION_INITIALIZED {@9}
		2 HTTP2_SESSION#9 - HTTP2_SESSION_STALLED_MAX_STREAMS {"url":"https://a.test/"}
	`)))
	f.Fuzz(func(t *testing.T, text []byte) {
		log, err := netlog.Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		for _, finding := range log.Findings() {
			if len(finding.Evidence) == 0 {
				t.Errorf("%v", finding)
			}
		}
		_ = log.String() + log.Requests().String() + log.Stalls().String()
		for _, q := range log.Requests() {
			if q.Wait < 0 || q.TimeToFirstByte() < 0 || q.Download() < 0 {
				t.Errorf("%+v", q)
			}
		}
	})
}

// TestAnyOrder: events missing, doubled and in any order, as several threads and
// a log of limited size make them, are understood as far as they go.
func TestAnyOrder(t *testing.T) {
	for i, name := range realLogs() {
		head, rest, _ := strings.Cut(plainText(t, name), "\n")
		lines := strings.SplitAfter(rest, "\n")
		random := rand.New(rand.NewPCG(3, 4)) // the same disorder every time
		ways := []int{1, 2, 10}
		if !*cutEverywhere { // each way with a third of the logs
			ways = ways[i%3 : i%3+1]
		}
		for _, keep := range ways {
			var some []string
			for i, line := range lines {
				if random.IntN(keep) == 0 {
					some = append(some, line)
				}
				if j := len(some) - 1 - random.IntN(4); i%keep == 0 && j >= 0 {
					some[j], some[len(some)-1] = some[len(some)-1], some[j]
				}
			}
			log := mustRead(t, head+"\n"+strings.Join(some, ""), nil)
			log.Findings()
			_ = log.String()
			for _, q := range log.Requests() {
				if q.Wait < 0 || q.TimeToFirstByte() < 0 || q.Download() < 0 {
					t.Errorf("%s: %+v", name, q)
				}
			}
			for _, s := range log.Stalls() {
				if s.Duration < 0 {
					t.Errorf("%s: %+v", name, s)
				}
			}
		}
	}
}
