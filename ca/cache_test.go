package ca_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/wiretest/ca"
)

// counted is an authority that counts what it mints. It takes its time over
// it, in which whoever is able to run does.
func counted(t *testing.T) (*ca.Authority, *atomic.Int64) {
	minted := new(atomic.Int64)
	return ca.New(t, &ca.Config{Leaf: func(*x509.Certificate) {
		minted.Add(1)
		for range 100 {
			runtime.Gosched()
		}
	}}), minted
}

func leaf(t *testing.T, a *ca.Authority, identities ...string) *tls.Certificate {
	t.Helper()
	cert, err := a.Leaf(identities...)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func TestAThousandAskAndOneIsMinted(t *testing.T) {
	inBothWorlds(t, func(t *testing.T) {
		authority, minted := counted(t)
		config := authority.ServerTLS()
		start := make(chan struct{})
		var got [1000]*tls.Certificate
		var wg sync.WaitGroup
		for i := range got {
			wg.Go(func() {
				<-start
				got[i], _ = config.GetCertificate(&tls.ClientHelloInfo{ServerName: "new.test"})
			})
		}
		close(start)
		wg.Wait()
		for i, cert := range got {
			if cert == nil || cert != got[0] {
				t.Fatalf("number %d got %v, the first %v", i, cert, got[0])
			}
		}
		if n := minted.Load(); n != 1 {
			t.Errorf("%d minted, want 1", n)
		}
	})
}

func TestCacheGoesBySubject(t *testing.T) {
	authority, minted := counted(t)
	for i, c := range []struct {
		ask  func() *tls.Certificate
		want int64 // minted so far
	}{
		{func() *tls.Certificate { return leaf(t, authority, "a.test") }, 1},
		{func() *tls.Certificate { return leaf(t, authority, "a.test") }, 1},
		{func() *tls.Certificate { return leaf(t, authority, "A.TEST.") }, 1},
		{func() *tls.Certificate { return leaf(t, authority, "a.test", "A.test") }, 1},
		{func() *tls.Certificate { return &authority.ServerTLS("a.test").Certificates[0] }, 1},
		{func() *tls.Certificate { return leaf(t, authority, "b.test") }, 2},
		{func() *tls.Certificate { return leaf(t, authority, "a.test", "b.test") }, 3},
		{func() *tls.Certificate { return leaf(t, authority, "a.test", "b.test") }, 3},
		{func() *tls.Certificate { return &authority.ClientTLS("a.test").Certificates[0] }, 4},
		{func() *tls.Certificate { return &authority.ClientTLS("a.test").Certificates[0] }, 4},
		{func() *tls.Certificate { return leaf(t, authority, "a.test") }, 4},
		{func() *tls.Certificate { return leaf(t, authority) }, 5},
		{func() *tls.Certificate { return leaf(t, authority, "localhost", "127.0.0.1", "::1") }, 5},
		{func() *tls.Certificate { return &authority.Issue("a.test").Certificate }, 6}, // always new
	} {
		cert := c.ask()
		if n := minted.Load(); n != c.want {
			t.Errorf("step %d: %d minted, want %d; the leaf is for %v", i, n, c.want, cert.Leaf.DNSNames)
		}
	}
}

func TestALeafNearItsEndIsNotReused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		authority, minted := counted(t)
		first := leaf(t, authority, "a.test")
		sleepUntil(first.Leaf.NotAfter.Add(-24 * time.Hour))
		if leaf(t, authority, "a.test") != first {
			t.Error("a leaf was not reused on its last but one day")
		}
		time.Sleep(1)
		if second := leaf(t, authority, "a.test"); second == first || minted.Load() != 2 {
			t.Errorf("a leaf was reused on its last day; %d minted", minted.Load())
		}
	})
}

func TestServersOutliveTheirLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		authority := ca.New(t, nil)
		servers := []*tls.Config{authority.ServerTLS(), authority.ServerTLS("a.test")}
		client := named(authority.ClientTLS("alice@example.com"), "a.test")
		for range 10 {
			for i, server := range servers {
				server.ClientAuth = tls.RequireAndVerifyClientCert
				requireShake(t, fmt.Sprintf("server %d, on %v", i, time.Now()), server, client)
			}
			time.Sleep(20 * 24 * time.Hour)
		}
	})
}

// A leaf that Config.Leaf gave an end of its own is reused up to that end, and
// one that it made invalid stays as invalid as it was.
func TestReuseKeepsWhatTheHookWants(t *testing.T) {
	short := func(c *x509.Certificate) { c.NotAfter = c.NotBefore.Add(3 * time.Hour) }
	for what, c := range map[string]struct {
		edit  func(*x509.Certificate)
		after time.Duration // when the leaf is a new one; a nanosecond earlier it is not
	}{
		"short":         {short, 2*time.Hour + 1},
		"expired":       {ca.Expired, 28*24*time.Hour + 23*time.Hour + 1},
		"not yet valid": {ca.NotYetValid, 24 * time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			authority := ca.New(t, &ca.Config{Leaf: c.edit})
			first := leaf(t, authority, "a.test")
			time.Sleep(c.after - 1)
			if leaf(t, authority, "a.test") != first {
				t.Errorf("%s: not reused after %v", what, c.after-1)
			}
			time.Sleep(1)
			if leaf(t, authority, "a.test") == first {
				t.Errorf("%s: reused after %v", what, c.after)
			}
		})
	}
}

func sleepUntil(when time.Time) { time.Sleep(time.Until(when)) }

func TestOneAuthorityInManyWorlds(t *testing.T) {
	authority, minted := counted(t)
	shakeHands := func(t *testing.T) {
		server := authority.ServerTLS()
		server.ClientAuth = tls.RequireAndVerifyClientCert
		client := named(authority.ClientTLS("alice@example.com"), "a.test")
		first := requireShake(t, "first", server, client)
		again := requireShake(t, "again", server, client)
		if !again.client.PeerCertificates[0].Equal(first.client.PeerCertificates[0]) {
			t.Error("a new leaf in the same world")
		}
	}
	t.Run("now", shakeHands)
	for i := range 3 {
		t.Run(fmt.Sprint("bubble ", i), func(t *testing.T) { synctest.Test(t, shakeHands) })
	}
	t.Run("now again", shakeHands)
	// Two in 2026, two for all bubbles of 2000, two again.
	if n := minted.Load(); n != 6 {
		t.Errorf("%d leaves minted, want 6", n)
	}
}

// The authority is made outside, and bubbles ask it at the same time as others
// do outside of them.
func TestManyWorldsAtOnce(t *testing.T) {
	authority := ca.New(t, nil)
	for i := range 4 {
		t.Run(fmt.Sprint("world ", i), func(t *testing.T) {
			t.Parallel()
			body := func(t *testing.T) {
				server := authority.ServerTLS()
				var wg sync.WaitGroup
				for range 10 {
					wg.Go(func() {
						r := shake(server, named(authority.ClientTLS(), "a.test"))
						if r.clientErr != nil {
							t.Errorf("client says %v, server says %v", r.clientErr, r.serverErr)
						}
					})
				}
				wg.Wait()
			}
			if i%2 == 0 {
				body(t)
				return
			}
			synctest.Test(t, body)
		})
	}
}

func TestCachedLeafAllocatesNothing(t *testing.T) {
	authority := ca.New(t, nil)
	name := fmt.Sprint("a", ".test")
	leaf(t, authority, name)
	if n := testing.AllocsPerRun(100, func() { authority.Leaf(name) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
