package pageload

import (
	"bytes"
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// subresources are the URLs that a browser fetches for the document at the URL by
// itself, each once, in the order of the document. Of its bases the first counts, from
// where it stands (HTML, section 4.2.3).
func subresources(at *url.URL, body []byte) []*url.URL {
	var found []*url.URL
	base, seen := at, make(map[string]bool)
	for z := html.NewTokenizer(bytes.NewReader(body)); z.Next() != html.ErrorToken; {
		tag := z.Token()
		u := link(base, reference(tag))
		if u == nil {
			continue
		}
		if tag.Data == "base" {
			if base == at {
				base = u
			}
			continue
		}
		u.Fragment = ""
		if key := u.String(); !seen[key] {
			seen[key] = true
			found = append(found, u)
		}
	}
	return found
}

// link is where ref leads to; nil is nowhere that HTTP does.
func link(base *url.URL, ref string) *url.URL {
	if ref == "" {
		return nil
	}
	u, err := base.Parse(ref)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil
	}
	return u
}

// reference is what one tag makes a browser fetch, or what the others are relative to;
// "" is nothing.
func reference(tag html.Token) string {
	if tag.Type != html.StartTagToken && tag.Type != html.SelfClosingTagToken {
		return ""
	}
	switch tag.Data {
	case "script", "img", "iframe", "audio", "video", "source", "embed":
		return attribute(tag, "src")
	case "base":
		return attribute(tag, "href")
	case "link":
		for _, rel := range strings.Fields(strings.ToLower(attribute(tag, "rel"))) {
			switch rel {
			case "stylesheet", "preload", "modulepreload", "icon":
				return attribute(tag, "href")
			}
		}
	}
	return ""
}

func attribute(tag html.Token, name string) string {
	for _, a := range tag.Attr {
		if a.Key == name {
			return strings.TrimSpace(a.Val)
		}
	}
	return ""
}
