package netlog

import (
	"strings"

	"example.com/wiretest/netlog/internal/chromefile"
)

// urlOf is the URL without user and fragment. Chromium leaves the user out itself,
// and says so behind the URL, unless told to capture what is sensitive.
func urlOf(p chromefile.Params) string {
	url := strings.TrimSuffix(p.Str("url"), " (credentials redacted)")
	url, _, _ = strings.Cut(url, "#")
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	user := strings.LastIndexByte(rest[:end], '@')
	return scheme + "://" + rest[user+1:]
}
