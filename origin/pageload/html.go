package pageload

import (
	"bytes"
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// subresources are the URLs that a browser fetches for the document by itself,
// each once, in the order of the document.
func subresources(base *url.URL, body []byte) []*url.URL {
	var found []*url.URL
	seen := make(map[string]bool)
	for z := html.NewTokenizer(bytes.NewReader(body)); z.Next() != html.ErrorToken; {
		ref := reference(z.Token())
		if ref == "" {
			continue
		}
		u, err := base.Parse(ref)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
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

// reference is what one tag makes a browser fetch; "" is nothing.
func reference(tag html.Token) string {
	if tag.Type != html.StartTagToken && tag.Type != html.SelfClosingTagToken {
		return ""
	}
	switch tag.Data {
	case "script", "img", "iframe", "audio", "video", "source", "embed":
		return attribute(tag, "src")
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
