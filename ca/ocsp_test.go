package ca

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// askOCSP is the response's status and, if that is 0, what it says of each
// certificate. It fails t where the response is not by issuer.
func askOCSP(t *testing.T, a *Authority, q ocspRequest, issuer signingCA) (asn1.Enumerated, ocspResponseData) {
	t.Helper()
	request, err := asn1.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := a.revoked.answer(request)
	if err != nil {
		t.Fatal(err)
	}
	var response ocspResponse
	mustUnmarshal(t, answer, &response)
	if response.Status != 0 {
		return response.Status, ocspResponseData{}
	}
	var basic signed
	mustUnmarshal(t, response.Bytes.Response, &basic)
	var data ocspResponseData
	mustUnmarshal(t, basic.Content.FullBytes, &data)
	digest := sum(crypto.SHA256, basic.Content.FullBytes)
	if !ecdsa.VerifyASN1(issuer.cert.PublicKey.(*ecdsa.PublicKey), digest, basic.Signature.Bytes) {
		t.Errorf("the response is not signed by %v", issuer.cert.Subject)
	}
	return 0, data
}

func mustUnmarshal(t *testing.T, der []byte, into any) {
	t.Helper()
	if rest, err := asn1.Unmarshal(der, into); err != nil || len(rest) > 0 {
		t.Fatalf("%T: error %v, %d bytes left of %x", into, err, len(rest), der)
	}
}

func certID(t *testing.T, issuer signingCA, hash crypto.Hash, serial *big.Int) ocspOne {
	t.Helper()
	id, err := newCertID(issuer.cert, hash)
	if err != nil {
		t.Fatal(err)
	}
	id.Serial = serial
	return ocspOne{CertID: id}
}

func TestOCSP(t *testing.T) {
	body := func(t *testing.T) {
		a, other := New(t, &Config{Intermediates: 1}), New(t, nil)
		issuer := a.hierarchy().issuer()
		good, bad := a.Issue("good.test").Leaf, a.Issue("bad.test").Leaf
		if err := a.Revoke(bad, Superseded); err != nil {
			t.Fatal(err)
		}
		nonce := pkix.Extension{Id: oidOCSPNonce, Value: []byte{4, 2, 7, 9}}
		q := ocspRequest{TBS: ocspTBS{Extensions: []pkix.Extension{nonce}, Requests: []ocspOne{
			certID(t, other.hierarchy().issuer(), crypto.SHA1, good.SerialNumber),
			certID(t, issuer, crypto.SHA1, good.SerialNumber),
			certID(t, issuer, crypto.SHA256, bad.SerialNumber),
			certID(t, a.hierarchy().root(), crypto.SHA1, issuer.cert.SerialNumber), // not the signer's to say
		}}}
		_, data := askOCSP(t, a, q, issuer)
		var got []string
		for i, one := range data.Responses {
			got = append(got, statusOf(one))
			if one.CertID.Serial.Cmp(q.TBS.Requests[i].CertID.Serial) != 0 {
				t.Errorf("answer %d is for %x", i, one.CertID.Serial)
			}
			now := time.Now().UTC()
			if late := now.Sub(one.ThisUpdate); late < time.Hour || late > time.Hour+time.Minute || one.NextUpdate.Sub(one.ThisUpdate) != 7*day+time.Hour {
				t.Errorf("answer %d is good from %v to %v, now is %v", i, one.ThisUpdate, one.NextUpdate, now)
			}
		}
		if want := []string{"unknown", "good", "revoked 4", "unknown"}; !slices.Equal(got, want) {
			t.Errorf("says %q, want %q", got, want)
		}
		if e := data.Extensions; len(e) != 1 || string(e[0].Value) != string(nonce.Value) {
			t.Errorf("extensions %v, want the nonce", e)
		}
	}
	t.Run("now", body)
	t.Run("in a bubble", func(t *testing.T) { synctest.Test(t, body) })
}

func statusOf(one ocspSingle) string {
	switch {
	case bool(one.Good):
		return "good"
	case bool(one.Unknown):
		return "unknown"
	}
	return "revoked " + string(rune('0'+one.Revoked.Reason))
}

func TestOCSPForOthers(t *testing.T) {
	a, other := New(t, nil), New(t, nil)
	strange := certID(t, a.hierarchy().issuer(), crypto.SHA1, big.NewInt(1))
	strange.CertID.Hash.Algorithm = asn1.ObjectIdentifier{2, 999}
	for what, c := range map[string]struct {
		ask  []ocspOne
		want asn1.Enumerated
	}{
		"another authority": {[]ocspOne{certID(t, other.hierarchy().issuer(), crypto.SHA1, big.NewInt(1))}, ocspUnauthorized},
		"an unknown hash":   {[]ocspOne{strange}, ocspUnauthorized},
		"nothing":           {nil, ocspMalformed},
	} {
		if got, _ := askOCSP(t, a, ocspRequest{TBS: ocspTBS{Requests: c.ask}}, signingCA{}); got != c.want {
			t.Errorf("%s: status %d, want %d", what, got, c.want)
		}
	}
}

// Whatever is asked, there is an answer that can be read.
func FuzzOCSP(f *testing.F) {
	a, err := Generate(nil)
	if err != nil {
		f.Fatal(err)
	}
	id, err := newCertID(a.Root(), crypto.SHA256)
	if err != nil {
		f.Fatal(err)
	}
	id.Serial = big.NewInt(-1)
	seed, err := asn1.Marshal(ocspRequest{TBS: ocspTBS{Requests: []ocspOne{{CertID: id}, {CertID: id}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte{0x30, 0x80})
	f.Fuzz(func(t *testing.T, request []byte) {
		answer, err := a.revoked.answer(request)
		if err != nil {
			t.Fatalf("%x: %v", request, err)
		}
		var response ocspResponse
		mustUnmarshal(t, answer, &response)
	})
}
