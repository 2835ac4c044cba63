// Package probeh3 asks a server over QUIC what package alpn's Probe asks over
// TCP: what it selects, its certificate, its HTTP/3 SETTINGS, its Alt-Svc,
// whether it resumes sessions and takes 0-RTT. It is a package of its own
// because it needs quic-go, which alpn does without.
//
//	r, err := probeh3.Probe(ctx, "shop.test:443", nil)
//	if err != nil || r.Selected(alpn.H3) != alpn.H3 {
//		t.Errorf("no HTTP/3: %v\n%v", err, r)
//	}
//
// Its Results are alpn's, and print as the same table. No HTTP proxy carries
// UDP, so that behind one there is mostly nothing to see.
package probeh3
