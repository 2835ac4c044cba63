package ca_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"example.com/wiretest/ca"
)

// gallery is a server that shows a broken certificate for each name it is asked
// for, FAULT.test, and the one of ip-as-dns-name to who asks for none.
type gallery struct {
	authority *ca.Authority
	addr      string
	port      string
	dir       string
	root      string // the root's file
	certs     map[string]*ca.Certificate
}

// twin has the serial number of duplicate-serial, and is asked first.
const twin = "twin"

func newGallery(t *testing.T) *gallery {
	t.Helper()
	status := httptest.NewUnstartedServer(nil)
	g := &gallery{dir: t.TempDir(), certs: make(map[string]*ca.Certificate)}
	g.authority = ca.New(t, &ca.Config{Intermediates: 1, StatusURL: "http://" + status.Listener.Addr().String()})
	status.Config.Handler = g.authority.StatusHandler()
	status.Start()
	t.Cleanup(status.Close)
	for _, row := range exhibits() {
		g.certs[row] = issue(g.authority, row)
	}
	if err := g.authority.Staple(g.certs[control]); err != nil {
		t.Fatal(err)
	}
	var err error
	if g.root, err = g.authority.WriteFiles(g.dir); err != nil {
		t.Fatal(err)
	}
	g.serve(t)
	return g
}

// exhibits are the rows that this Go can show.
func exhibits() []string {
	rows := []string{control, twin}
	for _, fault := range ca.Faults() {
		rows = append(rows, string(fault))
	}
	return rows
}

func issue(authority *ca.Authority, row string) *ca.Certificate {
	switch row {
	case control:
		return authority.Issue(hostOf(row))
	case twin:
		return authority.IssueBroken("duplicate-serial", hostOf(row))
	}
	return authority.IssueBroken(ca.Fault(row), hostOf(row))
}

func hostOf(row string) string {
	switch row {
	case control:
		return "none.test"
	case "ip-as-dns-name":
		return "127.0.0.1"
	}
	return row + ".test"
}

func (g *gallery) urlOf(row string) string { return "https://" + hostOf(row) + ":" + g.port + "/" }

func (g *gallery) serve(t *testing.T) {
	byHost := make(map[string]*tls.Certificate)
	for row, cert := range g.certs {
		byHost[hostOf(row)] = &cert.Certificate
	}
	srv := httptest.NewUnstartedServer(whoami)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	g.addr = srv.Listener.Addr().String()
	_, g.port, _ = net.SplitHostPort(g.addr)
	srv.Listener = tls.NewListener(srv.Listener, &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if hello.ServerName == "" {
			return byHost["127.0.0.1"], nil
		}
		return byHost[hello.ServerName], nil
	}})
	srv.Start()
	t.Cleanup(srv.Close)
}

// files writes a row's leaf and what follows it, if anything does.
func (g *gallery) files(t *testing.T, row string) (leaf, chain string) {
	t.Helper()
	cert := g.certs[row]
	leaf, chain = filepath.Join(g.dir, row+"-leaf.pem"), filepath.Join(g.dir, row+"-chain.pem")
	all := string(cert.CertPEM())
	end := strings.Index(all, "-----END CERTIFICATE-----\n") + len("-----END CERTIFICATE-----\n")
	write(t, leaf, []byte(all[:end]))
	write(t, chain, []byte(all[end:]))
	if all[end:] == "" {
		return leaf, "" // openssl refuses an empty file
	}
	return leaf, chain
}

// answers asks for each row.
func (g *gallery) answers(ask func(row string) string) map[string]string {
	answers := make(map[string]string)
	for _, row := range exhibits() {
		answers[row] = ask(row)
	}
	return answers
}

// TestFaults asks all programs for all certificates.
func TestFaults(t *testing.T) {
	g := newGallery(t)
	t.Run("OpenSSL", g.openSSL)
	t.Run("curl", g.curl)
	t.Run("Node.js", g.node)
	t.Run("Chromium", g.chromium)
	t.Run("Revocation", g.revocation)
}

func TestFaultsInGo(t *testing.T) {
	version := runtime.Version()
	column := "Go " + strings.Join(strings.SplitN(strings.TrimPrefix(version, "go"), ".", 3)[:2], ".")
	authority := ca.New(t, &ca.Config{Intermediates: 1}) // its RSA key takes a while
	inBothWorlds(t, func(t *testing.T) {
		answers := make(map[string]string)
		for _, row := range exhibits() {
			answers[row] = accepted
			server := &tls.Config{Certificates: []tls.Certificate{issue(authority, row).Certificate}}
			if r := shake(server, quick(named(authority.ClientTLS(), hostOf(row)))); r.clientErr != nil {
				answers[row] = sayGo(r.clientErr)
			}
		}
		compare(t, column, version, answers)
	})
}

// sayGo is an error without what differs from run to run.
func sayGo(err error) string {
	var invalid x509.CertificateInvalidError
	if errors.As(err, &invalid) {
		names := []string{"NotAuthorizedToSign", "Expired", "CANotAuthorizedForThisName", "TooManyIntermediates", "IncompatibleUsage",
			"NameMismatch", "NameConstraintsWithoutSANs", "UnconstrainedName", "TooManyConstraints", "CANotAuthorizedForExtKeyUsage", "NoValidChains"}
		return fmt.Sprintf("%s (%d)", names[invalid.Reason], invalid.Reason)
	}
	var verification *tls.CertificateVerificationError
	if errors.As(err, &verification) {
		err = verification.Err
	}
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		if _, why, ok := strings.Cut(unknown.Error(), `because of "`); ok {
			why, _, _ = strings.Cut(why, `"`)
			return "UnknownAuthorityError: " + strings.TrimPrefix(why, "x509: ")
		}
		return "UnknownAuthorityError"
	}
	if name := strings.TrimPrefix(fmt.Sprintf("%T", err), "x509."); name != fmt.Sprintf("%T", err) {
		return name
	}
	return strings.TrimPrefix(err.Error(), "x509: ")
}

func toolVersion(t *testing.T, tool string, args ...string) string {
	t.Helper()
	first, _, _ := strings.Cut(run(t, tool, args...), "\n")
	return strings.TrimSpace(strings.SplitN(first, " (", 2)[0])
}

// output is all that a program writes, however it ends.
func output(t *testing.T, name string, args ...string) string {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, _ := exec.CommandContext(ctx, name, args...).CombinedOutput()
	return string(out)
}

var (
	sClientError = regexp.MustCompile(`verify error:num=(\d+):(.*)`)
	verifyError  = regexp.MustCompile(`error (\d+) at \d+ depth lookup: (.*)`)
	libraryError = regexp.MustCompile(`:error:[0-9A-F]+:[^:]*:[^:]*:([^:]*):`)
)

// sayOpenSSL finds a verification error, or that of something else.
func sayOpenSSL(out string, verify *regexp.Regexp, success string) string {
	if m := verify.FindStringSubmatch(out); m != nil {
		return fmt.Sprintf("%s (%s)", m[2], m[1])
	}
	if m := libraryError.FindStringSubmatch(out); m != nil {
		return m[1]
	}
	if strings.Contains(out, success) {
		return accepted
	}
	return strings.TrimSpace(out)
}

func verifyName(row string) []string {
	if host := hostOf(row); net.ParseIP(host) != nil {
		return []string{"-verify_ip", host}
	}
	return []string{"-verify_hostname", hostOf(row)}
}

func (g *gallery) openSSL(t *testing.T) {
	openssl := tool(t, "openssl", "openssl")
	version := toolVersion(t, openssl, "version")
	compare(t, "openssl s_client", version, g.answers(func(row string) string {
		args := append([]string{"s_client", "-connect", g.addr, "-verify_return_error", "-no-CApath", "-CAfile", g.root}, verifyName(row)...)
		if host := hostOf(row); net.ParseIP(host) == nil {
			args = append(args, "-servername", host)
		} else {
			args = append(args, "-noservername")
		}
		return sayOpenSSL(output(t, openssl, args...), sClientError, "Verify return code: 0 (ok)")
	}))
	compare(t, "openssl verify -x509_strict", version, g.answers(func(row string) string {
		leaf, chain := g.files(t, row)
		args := append([]string{"verify", "-x509_strict", "-auth_level", "2", "-purpose", "sslserver", "-no-CApath", "-CAfile", g.root}, verifyName(row)...)
		if chain != "" {
			args = append(args, "-untrusted", chain)
		}
		return sayOpenSSL(output(t, openssl, append(args, leaf)...), verifyError, "OK")
	}))
}

func (g *gallery) curl(t *testing.T) {
	curl := tool(t, "curl", "curl")
	compare(t, "curl", toolVersion(t, curl, "--version"), g.askCurl(t, curl, exhibits()))
}

// askCurl asks for rows by one process, for each takes a while to start.
func (g *gallery) askCurl(t *testing.T, curl string, rows []string, options ...string) map[string]string {
	t.Helper()
	args := append([]string{"-s", "--noproxy", "*", "--max-time", "20", "-w", "%{exitcode} %{ssl_verify_result}\n",
		"--cacert", g.root, "--connect-to", "::" + g.addr}, options...)
	for _, row := range rows {
		args = append(args, "-o", os.DevNull, g.urlOf(row))
	}
	lines := strings.Split(strings.TrimSpace(output(t, curl, args...)), "\n")
	answers := make(map[string]string)
	for i, line := range lines {
		exit, verify, _ := strings.Cut(line, " ")
		switch {
		case len(lines) != len(rows):
			t.Fatalf("curl says %q to %q", lines, rows)
		case line == "0 0":
			answers[rows[i]] = accepted
		case verify == "0" || verify == "1": // 1 is unspecified
			answers[rows[i]] = exit
		default:
			answers[rows[i]] = fmt.Sprintf("%s, verify %s", exit, verify)
		}
	}
	return answers
}

func (g *gallery) node(t *testing.T) {
	node := tool(t, "node", "nodejs")
	compare(t, nodeColumn(t, node), toolVersion(t, node, "--version"), g.askNode(t, node, exhibits(), ""))
}

// nodeColumn tells a Node.js with an OpenSSL of its own from one with the
// system's, which Debian builds with a higher security level.
func nodeColumn(t *testing.T, node string) string {
	t.Helper()
	if strings.TrimSpace(run(t, node, "-p", "process.config.variables.node_shared_openssl")) == "true" {
		return "Node.js of Debian"
	}
	return "Node.js"
}

// askNode asks for rows by one process, with a file of revocation lists or
// without.
func (g *gallery) askNode(t *testing.T, node string, rows []string, lists string) map[string]string {
	t.Helper()
	const script = `
		const [, port, root, lists, hosts] = process.argv, fs = require("fs"), net = require("net"), tls = require("tls");
		const ask = host => new Promise(resolve => {
			const socket = tls.connect({
				host: "127.0.0.1", port, ca: fs.readFileSync(root),
				crl: lists ? fs.readFileSync(lists, "utf8").split(/(?=-----BEGIN)/) : undefined,
				servername: net.isIP(host) ? "" : host,
				checkServerIdentity: (_, cert) => tls.checkServerIdentity(host, cert),
			}, () => { resolve("accepted"); socket.destroy(); });
			socket.on("error", err => resolve(err.code));
		});
		(async () => {
			const answers = [];
			for (const host of JSON.parse(hosts)) answers.push(await ask(host));
			console.log(JSON.stringify(answers));
		})();`
	var hosts []string
	for _, row := range rows {
		hosts = append(hosts, hostOf(row))
	}
	list, err := json.Marshal(hosts)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	out := run(t, node, "-e", script, g.port, g.root, lists, string(list))
	if err := json.Unmarshal([]byte(out), &said); err != nil || len(said) != len(rows) {
		t.Fatalf("node says %s (error %v) to %q", out, err, rows)
	}
	answers := make(map[string]string)
	for i, row := range rows {
		answers[row] = said[i]
	}
	return answers
}

func (g *gallery) revocation(t *testing.T) {
	openssl, curl, node := tool(t, "openssl", "openssl"), tool(t, "curl", "curl"), tool(t, "node", "nodejs")
	lists, err := g.authority.RevocationLists()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(g.dir, "lists.pem")
	write(t, file, lists)
	version := toolVersion(t, openssl, "version")
	compare(t, "openssl verify -crl_check_all", version, g.revocations(func(row string) string {
		leaf, chain := g.files(t, row)
		return sayOpenSSL(output(t, openssl, "verify", "-crl_check_all", "-CRLfile", file, "-no-CApath", "-CAfile", g.root, "-untrusted", chain, leaf), verifyError, "OK")
	}))
	compare(t, "openssl ocsp", version, g.revocations(func(row string) string {
		leaf, chain := g.files(t, row)
		out := output(t, openssl, "ocsp", "-issuer", chain, "-cert", leaf, "-no-CApath", "-CAfile", g.root, "-url", g.certs[row].Leaf.OCSPServer[0])
		if !strings.Contains(out, "Response verify OK") {
			return out
		}
		if _, status, _ := strings.Cut(out, leaf+": "); !strings.HasPrefix(status, "good") {
			status, _, _ = strings.Cut(status, "\n")
			return status
		}
		return accepted
	}))
	curlVersion := toolVersion(t, curl, "--version")
	compare(t, "curl --crlfile", curlVersion, g.askCurl(t, curl, revocationRows, "--crlfile", file))
	compare(t, "curl --cert-status", curlVersion, g.askCurl(t, curl, revocationRows, "--cert-status"))
	compare(t, "Node.js crl", toolVersion(t, node, "--version"), g.askNode(t, node, revocationRows, file))
}

func (g *gallery) revocations(ask func(row string) string) map[string]string {
	answers := make(map[string]string)
	for _, row := range revocationRows {
		answers[row] = ask(row)
	}
	return answers
}
