package ca

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// nameStatus makes template say where its issuer's status is served.
func (cfg *Config) nameStatus(template, issuer *x509.Certificate) {
	if cfg.StatusURL == "" {
		return
	}
	id := hex.EncodeToString(issuer.SubjectKeyId)
	template.OCSPServer = []string{cfg.StatusURL + "/ocsp"}
	template.CRLDistributionPoints = []string{cfg.StatusURL + "/crl/" + id + ".crl"}
	template.IssuingCertificateURL = []string{cfg.StatusURL + "/ca/" + id + ".cer"}
}

// maxOCSPRequest is far above what a request for a few certificates has.
const maxOCSPRequest = 64 << 10

// StatusHandler serves what clients ask an authority for: OCSP by POST and by
// GET (RFC 6960, appendix A) at /ocsp, the revocation list of each authority at
// /crl/ID.crl, and its certificate, for clients to which a server did not show
// it, at /ca/ID.cer; ID is its key identifier in hexadecimal digits. To OCSP all
// that is not revoked is good, also what was never issued (RFC 6960, section 2.2).
// With [Config.StatusURL] certificates name these places.
func (a *Authority) StatusHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /crl/{file}", func(w http.ResponseWriter, r *http.Request) {
		a.serveFile(w, r, ".crl", "application/pkix-crl", a.revoked.list)
	})
	mux.HandleFunc("GET /ca/{file}", func(w http.ResponseWriter, r *http.Request) {
		a.serveFile(w, r, ".cer", "application/pkix-cert", func(authority signingCA) ([]byte, error) { return authority.cert.Raw, nil })
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Not by the mux, which cleans paths: base64 has slashes in it.
		if path := r.URL.EscapedPath(); path == "/ocsp" || strings.HasPrefix(path, "/ocsp/") {
			a.serveOCSP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func (a *Authority) serveFile(w http.ResponseWriter, r *http.Request, suffix, contentType string, of func(signingCA) ([]byte, error)) {
	name, ok := strings.CutSuffix(r.PathValue("file"), suffix)
	id, err := hex.DecodeString(name)
	authority, known := a.revoked.authority(id)
	if !ok || err != nil || !known {
		http.Error(w, "ca: no such authority", http.StatusNotFound)
		return
	}
	content, err := of(authority)
	serveDER(w, contentType, content, err)
}

func (a *Authority) serveOCSP(w http.ResponseWriter, r *http.Request) {
	request, err := ocspRequestOf(r)
	if err != nil {
		http.Error(w, "ca: OCSP request: "+err.Error(), http.StatusBadRequest)
		return
	}
	if request == nil {
		w.Header().Set("Allow", "GET, POST")
		http.Error(w, "ca: OCSP goes by GET and by POST", http.StatusMethodNotAllowed)
		return
	}
	response, err := a.revoked.answer(request)
	serveDER(w, "application/ocsp-response", response, err)
}

// ocspRequestOf is nil if r's method is neither of the two.
func ocspRequestOf(r *http.Request) ([]byte, error) {
	switch r.Method {
	case http.MethodPost:
		return io.ReadAll(io.LimitReader(r.Body, maxOCSPRequest))
	case http.MethodGet:
		text, err := url.PathUnescape(strings.TrimPrefix(strings.TrimPrefix(r.URL.EscapedPath(), "/ocsp"), "/"))
		if err != nil {
			return nil, err
		}
		return base64.StdEncoding.DecodeString(text)
	}
	return nil, nil
}

func serveDER(w http.ResponseWriter, contentType string, content []byte, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.Write(content)
}
