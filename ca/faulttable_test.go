package ca_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"example.com/wiretest/ca"
)

var update = flag.Bool("update", false, "write the columns of testdata/faults.md that the test asks for anew")

const (
	tableFile = "testdata/faults.md"
	accepted  = "accepted"
	control   = "(none)" // the row of a certificate without a fault
)

// table is what programs say to faults, as it is in tableFile: two tables in
// Markdown, and a line for each program that says which version of it was asked.
type table struct {
	cells    map[string]map[string]string // by row and column
	versions map[string]string            // by column
}

func readTable(t *testing.T) *table {
	t.Helper()
	text, err := os.ReadFile(tableFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	tab := &table{make(map[string]map[string]string), make(map[string]string)}
	var columns []string
	for _, line := range strings.Split(string(text), "\n") {
		if program, version, ok := strings.Cut(strings.TrimPrefix(line, "- "), ": "); ok && strings.HasPrefix(line, "- ") {
			tab.versions[program] = version
		}
		cells := cellsOf(line)
		switch {
		case cells == nil:
			columns = nil
		case columns == nil:
			columns = cells
		case !strings.HasPrefix(cells[0], "---"):
			for i, column := range columns[1:] {
				tab.set(cells[0], column, cells[i+1])
			}
		}
	}
	return tab
}

func cellsOf(line string) []string {
	if !strings.HasPrefix(line, "| ") {
		return nil
	}
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

func (tab *table) set(row, column, cell string) {
	if tab.cells[row] == nil {
		tab.cells[row] = make(map[string]string)
	}
	tab.cells[row][column] = cell
}

// rows are all faults, also where this Go lacks one.
func rows() []string {
	rows := []string{control}
	for _, fault := range ca.Faults() {
		rows = append(rows, string(fault))
	}
	if !slices.Contains(rows, "ml-dsa") {
		rows = slices.Insert(rows, slices.Index(rows, "ed25519")+1, "ml-dsa")
	}
	return rows
}

// askedColumns are the columns of the table of those who look at what they are
// shown, revocationColumns of those who were told to look for revocation.
var (
	askedColumns      = []string{"Go 1.26", "Go 1.27", "openssl s_client", "openssl verify -x509_strict", "curl", "Node.js", "Node.js of Debian", "Chromium"}
	revocationColumns = []string{"openssl verify -crl_check_all", "openssl ocsp", "curl --crlfile", "curl --cert-status", "Node.js crl"}
	revocationRows    = []string{control, "revoked", "revoked-stapled", "must-staple"}
)

// compare fails t if a column is not what programs say now, and with -update
// makes it so. Of another version than the file's, which may well differ, that
// is only said, unless WIRETEST_REQUIRE_TOOLS is set: somewhere it has to be
// noticed.
func compare(t *testing.T, column, version string, answers map[string]string) {
	t.Helper()
	tab := readTable(t)
	if *update {
		tab.update(t, column, version, answers)
		return
	}
	var differences []string
	for _, row := range rows() {
		answer, ok := answers[row]
		if want := tab.cells[row][column]; ok && answer != want {
			differences = append(differences, fmt.Sprintf("%s says %q to %s; %s has %q", column, answer, row, tableFile, want))
		}
	}
	if len(differences) == 0 {
		return
	}
	text := fmt.Sprintf("%s\nThis is %s, the file is from %s; go test -run %s -update writes it anew.",
		strings.Join(differences, "\n"), version, tab.versions[column], strings.Split(t.Name(), "/")[0])
	if version != tab.versions[column] && os.Getenv("WIRETEST_REQUIRE_TOOLS") == "" {
		t.Skip(text)
	}
	t.Error(text)
}

func (tab *table) update(t *testing.T, column, version string, answers map[string]string) {
	t.Helper()
	tab.versions[column] = version
	for row, answer := range answers {
		tab.set(row, column, answer)
	}
	write(t, tableFile, []byte(tab.String()))
}

func (tab *table) String() string {
	var b strings.Builder
	b.WriteString(preamble)
	tab.write(&b, rows(), askedColumns)
	b.WriteString(interlude)
	tab.write(&b, revocationRows, revocationColumns)
	b.WriteString("\n## What was asked\n\n")
	for _, column := range slices.Concat(askedColumns, revocationColumns) {
		fmt.Fprintf(&b, "- %s: %s\n", column, tab.versions[column])
	}
	b.WriteString("\n## The faults\n\n| Fault | What is broken | Why it may be accepted |\n| --- | --- | --- |\n")
	for _, row := range rows()[1:] {
		meaning := ca.Fault(row).Meaning()
		if meaning == "" {
			meaning = tab.cells[row]["What is broken"] // by a newer Go
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", row, meaning, whyAccepted[row])
	}
	return b.String()
}

func (tab *table) write(b *strings.Builder, rows, columns []string) {
	fmt.Fprintf(b, "| Fault | %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat(" --- |", len(columns)+1))
	for _, row := range rows {
		fmt.Fprintf(b, "| %s |", row)
		for _, column := range columns {
			fmt.Fprintf(b, " %s |", tab.cells[row][column])
		}
		b.WriteByte('\n')
	}
}

func TestTableIsWhole(t *testing.T) {
	tab := readTable(t)
	for _, row := range rows() {
		for _, column := range askedColumns {
			cell := tab.cells[row][column]
			switch {
			case row == "ml-dsa" && column == "Go 1.26": // which does not have it
			case cell == "":
				t.Errorf("%s: what %s says is missing", row, column)
			case row == control && cell != accepted:
				t.Errorf("a certificate without a fault: %s says %q", column, cell)
			case row != control && cell == accepted && whyAccepted[row] == "":
				t.Errorf("%s is accepted by %s, and nothing says why", row, column)
			}
		}
	}
	if got, err := os.ReadFile(tableFile); err != nil || string(got) != tab.String() {
		t.Errorf("%s is not as this test writes it (error %v); go test -run TestFaults -update does", tableFile, err)
	}
}

const preamble = `# What programs say to broken certificates

Written by ` + "`go test ./ca -run TestFaults -update`" + `; a test fails when an answer changes.
Each program trusts the authority's root, and asks a server on this machine for
https://FAULT.test/ (ip-as-dns-name: https://127.0.0.1/).

- Go: the error of crypto/x509, with the number of its Reason
- openssl s_client: with -verify_return_error and -verify_hostname, the number of X509_V_ERR
- openssl verify: with -x509_strict, -auth_level 2 as Debian has for TLS, -purpose sslserver and -verify_hostname, likewise
- curl: its exit status, and the number of X509_V_ERR in its %{ssl_verify_result} where that says something
- Node.js: the code of the error, of one with its own OpenSSL and of Debian's, which has the system's
- Chromium: the net error and its number

`

const interlude = `
## Revocation, where it is asked for

Unasked, of the programs above Chromium alone minds, and only what is stapled.
These were told to look: to read the authority's lists, to ask its OCSP server,
or to want a stapled response, which here the certificate without a fault has.

`
