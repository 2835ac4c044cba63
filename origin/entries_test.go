package origin_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/origin"
)

type entry struct {
	Leaf  []byte `json:"leaf_input"`
	Extra []byte `json:"extra_data"`
}

func getEntries(t *testing.T, h http.Handler, start, end int) ([]entry, *httptest.ResponseRecorder) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", fmt.Sprintf("/ct/v1/get-entries?start=%d&end=%d", start, end), nil))
	require.Equal(t, 200, w.Code, w.Body)
	require.Equal(t, w.Header().Get("Content-Length"), fmt.Sprint(w.Body.Len()))
	var answer struct{ Entries []entry }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
	return answer.Entries, w
}

func TestEntriesKeepToTheirBudget(t *testing.T) {
	log := origin.Entries{Seed: 7}
	low, high := 1<<20, 0
	for start := 0; start < 400_000; start += 1009 {
		n := log.Count(start, start+1023)
		low, high = min(low, n), max(high, n)
	}
	assert.Equal(t, []int{29, 125}, []int{low, high}, "of 1,024 asked for")

	got, w := getEntries(t, log.Handler(), 5000, 6023)
	assert.Len(t, got, log.Count(5000, 6023))
	assert.Equal(t, len(`{"entries":[]}`)+len(got)*log.EntryBytes()-1, w.Body.Len())
	for i, e := range got {
		assert.Len(t, e.Leaf, 1500)
		assert.Equal(t, uint64(5000+i), binary.BigEndian.Uint64(e.Leaf[2:10]), "timestamp")
		assert.Equal(t, []byte{0, 0, 0, byte((1500 - 17) >> 8), byte((1500 - 17) & 0xff)}, e.Leaf[10:15], "entry type and length")
		assert.Equal(t, []byte{0, 0}, e.Leaf[1498:], "no extensions")
		assert.Equal(t, []byte{0, 0, 0}, e.Extra, "no chain")
	}
	again, _ := getEntries(t, log.Handler(), 5000, 6023)
	assert.Equal(t, got, again)
	assert.NotEqual(t, got, must(getEntries2(t, origin.Entries{Seed: 8}.Handler(), 5000, 6023)))
}

func getEntries2(t *testing.T, h http.Handler, start, end int) ([]entry, error) {
	got, _ := getEntries(t, h, start, end)
	return got, nil
}

func TestEntriesEnd(t *testing.T) {
	log := origin.Entries{Size: 100, LeafBytes: 18, BudgetMax: 1}
	got, _ := getEntries(t, log.Handler(), 10, 99)
	assert.Len(t, got, 1, "a budget below one entry")
	got, _ = getEntries(t, origin.Entries{Size: 100, BudgetMax: 1 << 30, BudgetMin: 1 << 30}.Handler(), 10, 5000)
	assert.Len(t, got, 90)
	for query, want := range map[string]string{
		"start=100&end=101": "start 100: the log has 100 entries",
		"start=5&end=4":     "end 4 is before start 5",
		"start=-1&end=4":    "start: -1 is negative",
		"start=1":           "end: strconv.Atoi",
	} {
		w := httptest.NewRecorder()
		log.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/ct/v1/get-entries?"+query, nil))
		assert.Equal(t, 400, w.Code)
		assert.Contains(t, w.Body.String(), "origin: get-entries: "+want)
	}
	for _, asked := range [][2]int{{100, 101}, {5, 4}, {-1, 4}} {
		assert.Zero(t, log.Count(asked[0], asked[1]), asked)
	}
	w := httptest.NewRecorder()
	log.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/ct/v1/get-sth", nil))
	var head struct {
		Size int    `json:"tree_size"`
		Root []byte `json:"sha256_root_hash"`
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &head))
	assert.Equal(t, 100, head.Size)
	assert.Len(t, head.Root, 32)
}
