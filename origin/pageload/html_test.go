package pageload

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSubresources(t *testing.T) {
	const document = `<!doctype html><html><head>
		<link rel="icon" href="data:,">
		<link rel="STYLESHEET preload" href="/style.css">
		<link rel="canonical" href="/not-fetched">
		<script defer src="/js/mod001.js"></script>
		<script>var inline = "<img src='/not-an-image'>"</script>
		<!-- <img src="/commented"> -->
		<img alt="twice" src="/img/001.svg"><img src="/img/001.svg#part">
		<img src=" relative.svg ">
		<img src="//cdn.test/a.png"><img src="ftp://cdn.test/b.png"><img src="http://[bad">
		<a href="/link">never followed</a>
		<iframe src="https://other.test/frame"></iframe>`
	assert.Equal(t, []string{
		"https://origin.test/style.css",
		"https://origin.test/js/mod001.js",
		"https://origin.test/img/001.svg",
		"https://origin.test/dir/relative.svg",
		"https://cdn.test/a.png",
		"https://other.test/frame",
	}, subresourcesOf(t, document))
}

func TestSubresourcesAreRelativeToTheBase(t *testing.T) {
	const document = `<base target="_blank"><base href="/app/"><base href="/other/"><img src="a.png"><img src="/b.png">`
	assert.Equal(t, []string{"https://origin.test/app/a.png", "https://origin.test/b.png"}, subresourcesOf(t, document))
}

func subresourcesOf(t *testing.T, document string) (all []string) {
	t.Helper()
	at, err := url.Parse("https://origin.test/dir/page")
	require.NoError(t, err)
	for _, u := range subresources(at, []byte(document)) {
		all = append(all, u.String())
	}
	return all
}
