// Package ca is a certificate authority that lives as long as a test: a root,
// intermediates if wanted, and certificates for servers and clients. Keys stay
// in memory unless they are asked for.
//
//	authority := ca.New(t, nil)
//	srv := httptest.NewUnstartedServer(handler)
//	srv.TLS = authority.ServerTLS("www.example.com", "127.0.0.1")
//	srv.StartTLS()
//	defer srv.Close()
//	client := &http.Client{Transport: &http.Transport{TLSClientConfig: authority.ClientTLS()}}
//	resp, err := client.Get(srv.URL) // verified: no InsecureSkipVerify anywhere
//
// The root and its intermediates are valid from 1999 to 2099, and a leaf from
// an hour before the moment it is issued, by the clock of whoever asks. One
// authority therefore serves real time and any number of testing/synctest
// bubbles, whose clocks start in 2000.
//
// What is wrong on purpose has a name: "expired", "self-signed",
// "incomplete-chain" and all others of [Faults]. [Authority.IssueBroken] issues
// one such certificate, and with [Config.Fault] an authority issues no others,
// to whatever server or proxy it is given.
//
// While servers run, leaves and the root itself can be rotated
// ([Authority.RotateLeaves], [Authority.RotateRootCrossSigned]), and what was
// issued can be revoked: [Authority.StatusHandler] serves the lists and OCSP.
// [Authority.MutualTLS] and [Authority.ClientTLS] are the two sides of mutual
// TLS, and [Authority.SignRequest] issues for keys of others.
//
// All certificates for the same identities have the same size in bytes, and so
// have handshakes with them: keys are P-256, and they sign again until the
// signature has its usual length. A test that counts bytes, or that runs over
// a link with a rate, gets the same figures each time.
//
// The issuer's common name tells who made a certificate, which is how a record
// of connections shows that one was intercepted: give each authority of a test
// a [Config.Name] of its own.
package ca
