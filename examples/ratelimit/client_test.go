package ratelimit

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const chunk = 1024 // entries that are asked for at once

// follower reads a log as its monitors do: several workers take pieces of 1,024
// entries, and ask again from where a short answer ended.
type follower struct {
	http    *http.Client
	url     string
	workers int

	next    atomic.Int64 // the piece to take
	entries atomic.Int64 // that came
	refused atomic.Int64 // answers of 429
}

// read reads all entries, and ends with the first error.
func (f *follower) read(ctx context.Context) error {
	n, err := f.size(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for i := range f.workers {
		all.Go(func() {
			pause(ctx, time.Duration(i+1)) // in virtual time this is what keeps their order
			if err := f.work(ctx, n); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

func (f *follower) work(ctx context.Context, n int) error {
	for {
		start := int(f.next.Add(1)-1) * chunk
		if start >= n {
			return nil
		}
		if err := f.piece(ctx, start, min(start+chunk, n)-1); err != nil {
			return err
		}
	}
}

// piece gets the entries from start to end, both inclusive.
func (f *follower) piece(ctx context.Context, start, end int) error {
	for start <= end {
		got, again, err := f.ask(ctx, start, end)
		if err != nil {
			return err
		}
		f.entries.Add(int64(got))
		start += got
		if again > 0 {
			f.refused.Add(1)
			if err := pause(ctx, again); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *follower) get(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url+path, nil)
	if err != nil {
		return nil, err
	}
	return f.http.Do(req)
}

// size is how many entries there are.
func (f *follower) size(ctx context.Context) (int, error) {
	resp, err := f.get(ctx, "/ct/v1/get-sth")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var head struct {
		Size int `json:"tree_size"`
	}
	err = json.NewDecoder(resp.Body).Decode(&head)
	io.Copy(io.Discard, resp.Body) // to the end, without which the connection is lost
	return head.Size, err
}

// ask returns how many entries came, or after how long to ask again.
func (f *follower) ask(ctx context.Context, start, end int) (int, time.Duration, error) {
	path := fmt.Sprintf("/ct/v1/get-entries?start=%d&end=%d", start, end)
	resp, err := f.get(ctx, path)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusTooManyRequests:
		// Left unread, a body costs the connection: over HTTP/1.1 each 429 is
		// then answered by a new one.
		io.Copy(io.Discard, resp.Body)
		seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		return 0, time.Duration(seconds) * time.Second, err
	case http.StatusOK:
		var answer struct {
			Entries []struct {
				Leaf []byte `json:"leaf_input"`
			} `json:"entries"`
		}
		err := json.NewDecoder(resp.Body).Decode(&answer)
		io.Copy(io.Discard, resp.Body)
		if err == nil && len(answer.Entries) == 0 {
			err = fmt.Errorf("%s: no entries", path)
		}
		return len(answer.Entries), 0, err
	}
	return 0, 0, fmt.Errorf("%s: %s", path, resp.Status)
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
