package origin

import (
	"cmp"
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"time"
)

// Page is a page of many small subresources on one host: an HTML document at
// "/" and what it names, in this order: scripts /js/mod001.js …, images
// /img/001.svg …, API calls /api/001 … (three digits, more above 999).
//
// Each subresource is answered after a delay that depends on its path alone;
// the document is answered at once. A nil *Page is the published one: 50
// scripts, 60 images, 60 API calls, delays from 100 to 400 ms, which add up to
// 42,602 ms. Any other is taken literally: 0 is none, or no delay.
type Page struct {
	Scripts, Images, API int
	DelayMin, DelayMax   time.Duration
}

// orPublished is p, or the published page if p is nil.
func (p *Page) orPublished() Page {
	if p != nil {
		return *p
	}
	return Page{
		Scripts: 50, Images: 60, API: 60,
		DelayMin: 100 * time.Millisecond, DelayMax: 400 * time.Millisecond,
	}
}

func (p *Page) validate() error {
	page := p.orPublished()
	if err := cmp.Or(
		notNegative("Scripts", page.Scripts),
		notNegative("Images", page.Images),
		notNegative("API", page.API),
		notNegative("DelayMin", page.DelayMin),
	); err != nil {
		return fmt.Errorf("Config.Page: %w", err)
	}
	if page.DelayMin > page.DelayMax {
		return fmt.Errorf("Config.Page: DelayMin %v is above DelayMax %v", page.DelayMin, page.DelayMax)
	}
	return nil
}

// Delay is how long the answer for a path takes:
//
//	DelayMin + (first 8 bytes of MD5(path), big endian) mod (DelayMax − DelayMin)
//
// reckoned in whole milliseconds, so that it is below DelayMax. It is 0 for
// "/", and DelayMin where the two are less than 1 ms apart. A path is as in the
// request, with its slash and without a query.
func (p *Page) Delay(path string) time.Duration {
	if path == "/" {
		return 0
	}
	page := p.orPublished()
	span := (page.DelayMax - page.DelayMin).Milliseconds()
	if span <= 0 {
		return page.DelayMin
	}
	hash := md5.Sum([]byte(path))
	return page.DelayMin + time.Duration(binary.BigEndian.Uint64(hash[:8])%uint64(span))*time.Millisecond
}

// Paths are the paths of the subresources in page order, without the document.
func (p *Page) Paths() []string {
	page := p.orPublished()
	paths := make([]string, 0, page.Scripts+page.Images+page.API)
	for _, kind := range page.kinds() {
		for n := 1; n <= kind.count; n++ {
			paths = append(paths, fmt.Sprintf(kind.path, n))
		}
	}
	return paths
}

// kind is one kind of subresource; path, tag and body are formats.
type kind struct {
	count       int
	path        string // of the number
	tag         string // of the path
	contentType string
	body        string // of the number
}

func (p Page) kinds() [3]kind {
	return [3]kind{
		{p.Scripts, "/js/mod%03d.js", scriptTag, "text/javascript; charset=utf-8", "\"module %d\";\n"},
		{p.Images, "/img/%03d.svg", imageTag, "image/svg+xml", svg},
		{p.API, "/api/%03d", apiTag, "application/json", "{\"id\":%d}\n"},
	}
}

const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><title>%d</title><rect width="8" height="8"/></svg>
`
