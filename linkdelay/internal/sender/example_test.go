package sender_test

import (
	"fmt"
	"time"

	"example.com/wiretest/linkdelay/internal/sender"
)

// lossy delays by 50 ms and loses what its key says.
type lossy struct {
	key  sender.Key
	loss float64
}

func (l lossy) Send(sent sender.Instant, s sender.Segment) (sender.Instant, bool) {
	return l.Back(sent), l.key.Lost(s, l.loss)
}

func (l lossy) Back(sent sender.Instant) sender.Instant {
	return sent + sender.Instant(50*time.Millisecond)
}

func (l lossy) Least() time.Duration { return 50 * time.Millisecond }

func ExampleSender() {
	path := lossy{key: sender.NewKey(2, 0, 0), loss: 0.05}
	s, err := sender.New(0, sender.Config{Path: path, RTT: 100 * time.Millisecond})
	if err != nil {
		panic(err)
	}
	s.Write(0, make([]byte, 30_000))
	s.Close(0)
	for now := sender.Instant(0); !s.Ended(now); {
		now = s.NextRead()
		if n := s.Read(now, 1<<20); n > 0 {
			fmt.Println(time.Duration(now), n)
		}
	}
	// Output:
	// 50ms 1460
	// 150ms 20440
	// 250ms 7300
	// 650ms 800
}
