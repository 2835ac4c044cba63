package ca_test

// whyAccepted is why some accept a fault: their reason, or that of the fault to
// be on the list.
var whyAccepted = map[string]string{
	"over-398-days":          "the limit is for public authorities; of a private one Apple alone minds more, see over-825-days",
	"over-825-days":          "Apple's limit for private authorities, which Lint finds; nobody asked here has one",
	"no-san":                 "OpenSSL, curl and Node.js fall back on the common name (RFC 6125, section 6.4.4; RFC 9525 ended that)",
	"no-common-name":         "right: the common name is for people to read",
	"no-subject":             "right, as long as the alternative names are critical (RFC 5280, section 4.2.1.6), which they are",
	"wildcard-of-tld":        "Go asks for no public suffix, and for no second dot",
	"1000-sans":              "right: there is no limit to their number",
	"10000-sans":             "by who reads so much, some 170 KB: Go reads 256 KB of certificates, OpenSSL and Chromium's BoringSSL 100 KB",
	"server-only":            "right for a server; a client's is refused, as client-only is here",
	"no-usage":               "right: without the extensions every usage is allowed (RFC 5280, sections 4.2.1.3 and 4.2.1.12)",
	"wrong-key-usage":        "Go does not look at a leaf's key usage",
	"rsa-1024":               "Go and Chromium have no limit above it for private authorities; Debian's OpenSSL has 112 bits (level 2), the one in Node.js 80 (level 1)",
	"p-521":                  "right, where the client offers to verify such keys; Chromium does not",
	"ed25519":                "right, where the client offers to verify such keys; Chromium does not",
	"ml-dsa":                 "right, where the client offers to verify such keys; OpenSSL does from 3.5 on",
	"duplicate-serial":       "nobody asked here remembers certificates; those who do, as NSS, refuse the second",
	"wrong-subject-key-id":   "it is there for those who look for a leaf's issuer, and a leaf issues nothing",
	"wrong-authority-key-id": "Go and Chromium take it for a hint where to look first (RFC 4158 advises so); OpenSSL looks nowhere else",
	"no-authority-key-id":    "RFC 5280, section 4.2.1.1, wants it; names are enough to find the issuer, and OpenSSL minds only when strict",
	"revoked":                "nobody asks unasked: see below",
	"revoked-stapled":        "nobody but Chromium looks at what is stapled unasked: see below",
	"must-staple":            "nobody asked here minds the extension; curl, when told to, wants a response whatever the certificate says: see below",
}
