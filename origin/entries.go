package origin

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
)

// Entries is a log of certificates that gives less than it is asked for. It
// serves get-entries and get-sth in the shape of RFC 6962, sections 4.6 and 4.3,
// at /ct/v1/get-entries and /ct/v1/get-sth, with made-up content: an answer holds
// as many entries as its budget of bytes has room for, at least one. The zero
// value works; the methods panic if it is mistaken.
type Entries struct {
	// Size is how many entries there are. 0 is 1<<20.
	Size int

	// LeafBytes is the size of each leaf_input, before base64: 18, its fixed part
	// and a byte, to 16 MiB. 0 is 1,500.
	LeafBytes int

	// BudgetMin and BudgetMax are how many bytes of entries an answer has room
	// for. Each answer's budget depends on the Seed and on where it starts,
	// alone. Both 0 are what 29 and 125 entries take.
	BudgetMin, BudgetMax int
	Seed                 uint64
}

const (
	leafFixed  = 17 // version, type, timestamp, entry type, length; behind the certificate the extensions' length
	entryFixed = len(`{"leaf_input":"","extra_data":"AAAA"},`)
)

// EntryBytes is what one entry takes of the budget: its JSON and a comma.
func (e Entries) EntryBytes() int { return e.checked().entryBytes() }

func (e Entries) entryBytes() int { return entryFixed + base64.StdEncoding.EncodedLen(e.LeafBytes) }

// checked is e with its defaults filled in. It panics if e is mistaken.
func (e Entries) checked() Entries {
	e = e.withDefaults()
	check("Entries", e.validate())
	return e
}

func (e Entries) withDefaults() Entries {
	if e.Size == 0 {
		e.Size = 1 << 20
	}
	if e.LeafBytes == 0 {
		e.LeafBytes = 1500
	}
	if e.BudgetMin == 0 && e.BudgetMax == 0 {
		one := e.entryBytes()
		e.BudgetMin, e.BudgetMax = 29*one, 126*one-1
	}
	return e
}

func (e Entries) validate() error {
	switch {
	case e.Size < 0:
		return fmt.Errorf("Size: %d is negative", e.Size)
	case e.LeafBytes <= leafFixed || e.LeafBytes > 1<<24:
		return fmt.Errorf("LeafBytes: %d: want %d to %d", e.LeafBytes, leafFixed+1, 1<<24)
	case e.BudgetMin < 0 || e.BudgetMin > e.BudgetMax:
		return fmt.Errorf("BudgetMin %d, BudgetMax %d: want 0 or more, in this order", e.BudgetMin, e.BudgetMax)
	}
	return nil
}

// Count is how many entries the answer to start and end has, both inclusive: 0
// where it is 400.
func (e Entries) Count(start, end int) int {
	e = e.checked()
	if start < 0 || start >= e.Size || end < start {
		return 0
	}
	span := uint64(e.BudgetMax - e.BudgetMin + 1)
	budget := e.BudgetMin + int(rand.New(rand.NewPCG(e.Seed, uint64(start))).Uint64N(span))
	return max(1, min(budget/e.entryBytes(), min(end, e.Size-1)-start+1))
}

// Handler serves e.
func (e Entries) Handler() http.Handler {
	e = e.checked()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ct/v1/get-sth", e.head)
	mux.HandleFunc("GET /ct/v1/get-entries", e.entries)
	return mux
}

// head is a tree head whose hash and signature are of the right size only.
func (e Entries) head(w http.ResponseWriter, _ *http.Request) {
	zeros := base64.StdEncoding.EncodeToString(make([]byte, 32))
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"tree_size":%d,"timestamp":0,"sha256_root_hash":"%s","tree_head_signature":"%s"}`, e.Size, zeros, zeros)
}

func (e Entries) entries(w http.ResponseWriter, r *http.Request) {
	start, err := index(r, "start")
	if err == nil && start >= e.Size {
		err = fmt.Errorf("start %d: the log has %d entries", start, e.Size)
	}
	end, endErr := index(r, "end")
	if err == nil {
		err = endErr
	}
	if err == nil && end < start {
		err = fmt.Errorf("end %d is before start %d", end, start)
	}
	if err != nil {
		http.Error(w, "origin: get-entries: "+err.Error(), http.StatusBadRequest)
		return
	}
	count := e.Count(start, end)
	const head, tail = `{"entries":[`, `]}`
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(head)+count*e.entryBytes()-1+len(tail)))
	io.WriteString(w, head)
	for i := range count {
		entry := e.entry(start + i)
		if i == count-1 {
			entry = entry[:len(entry)-1] // its comma
		}
		w.Write(entry)
	}
	io.WriteString(w, tail)
}

func index(r *http.Request, name string) (int, error) {
	n, err := strconv.Atoi(r.URL.Query().Get(name))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	if n < 0 {
		return 0, fmt.Errorf("%s: %d is negative", name, n)
	}
	return n, nil
}

// entry is a MerkleTreeLeaf (RFC 6962, section 3.4) around noise, and a chain of
// no certificates.
func (e Entries) entry(i int) []byte {
	leaf := make([]byte, e.LeafBytes)
	binary.BigEndian.PutUint64(leaf[2:], uint64(i)) // the timestamp
	cert := leaf[leafFixed-2 : e.LeafBytes-2]
	binary.BigEndian.PutUint32(leaf[11:], uint32(len(cert))) // 3 bytes, behind the low one of the entry type
	noise := rand.NewPCG(e.Seed, uint64(i))
	for len(cert) > 0 {
		cert = cert[copy(cert, binary.BigEndian.AppendUint64(nil, noise.Uint64())):]
	}
	b := append(make([]byte, 0, e.entryBytes()), `{"leaf_input":"`...)
	b = base64.StdEncoding.AppendEncode(b, leaf)
	return append(b, `","extra_data":"AAAA"},`...)
}
