package ca

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"sync"
	"time"
)

// renewal is how long before its end a leaf leaves the cache, so that none
// ends while a slow handshake is on its way.
const renewal = 24 * time.Hour

// cache keeps one leaf per subject. It is asked from inside and outside of
// bubbles, and several at once, so nothing in it may belong to one: no
// channel, no timer, no WaitGroup, no Cond. Mutexes belong to none. A
// goroutine of a bubble that waits for one is not "durably blocked", so
// virtual time stands still meanwhile; that is harmless here, because what
// runs under them only computes and so always ends.
//
// mu guards the maps and is held for a look-up. Minting, some 0.2 ms, happens
// under the slot's own mutex: many that ask for one new subject get one leaf,
// and nobody else waits for it.
type cache struct {
	mu        sync.Mutex
	bySubject map[string]*slot
	// byName leads from one identity, as it was typed, to its slot, without
	// parsing and without an allocation: the way of every handshake.
	byName map[string]*slot
}

type slot struct {
	subject subject
	mu      sync.Mutex
	last    *minted // nil until minted; guarded by mu
}

func (c *cache) find(usage x509.ExtKeyUsage, identities []string) (*slot, error) {
	single := len(identities) == 1 && usage == anyUsage
	if single {
		if s := c.named(identities[0]); s != nil {
			return s, nil
		}
	}
	subject, err := parseSubject(usage, identities)
	if err != nil {
		return nil, fmt.Errorf("ca: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.slot(subject)
	if single {
		c.byName[identities[0]] = s
	}
	return s, nil
}

func (c *cache) named(identity string) *slot {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byName[identity]
}

// slot is called with c.mu held.
func (c *cache) slot(subject subject) *slot {
	if c.bySubject == nil {
		c.bySubject = make(map[string]*slot)
		c.byName = make(map[string]*slot)
	}
	key := subject.key()
	s := c.bySubject[key]
	if s == nil {
		s = &slot{subject: subject}
		c.bySubject[key] = s
	}
	return s
}

// leaf is the slot's leaf, minted if there is none or the last no longer does.
func (s *slot) leaf(a *Authority) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil && s.last.by == a.hierarchy() && s.last.reusable(time.Now()) {
		return s.last.cert, nil
	}
	m, err := a.mint(s.subject, a.cfg.Fault)
	if err != nil {
		return nil, err
	}
	s.last = m
	return m.cert, nil
}

// reusable reports whether a new leaf would be no different: now is in the
// window that the authority gave, and the leaf is as valid, or as invalid if
// Config.Leaf or Config.Fault wants that, as when it was issued.
func (m *minted) reusable(now time.Time) bool {
	leaf := m.cert.Leaf
	return within(now, m.from, m.until.Add(-renewal)) &&
		within(now, leaf.NotBefore, leaf.NotAfter) == m.valid
}
