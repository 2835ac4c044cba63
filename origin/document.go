package origin

import (
	"fmt"
	"strings"
)

// Every subresource is named exactly once, by a src or an href in double
// quotes, so that a client which is no browser finds all of them by looking for
// these two, in page order. For the API calls that is a preload. Its mode and
// credentials are those of fetch with no options ("cors" and "same-origin",
// which is crossorigin without a value), so a browser gives the script's fetch
// the answer to the preload instead of asking a second time (HTML, section
// 4.6.7.9, "consume a preloaded resource").
const (
	scriptTag = "<script defer src=\"%s\"></script>\n"
	imageTag  = "<img src=\"%s\" alt=\"\" width=\"8\" height=\"8\">\n"
	apiTag    = "<link rel=\"preload\" as=\"fetch\" crossorigin href=\"%s\">\n"
)

// document is the HTML of the page.
func (p Page) document() string {
	kinds := p.kinds()
	var b strings.Builder
	b.WriteString(documentHead)
	kinds[0].writeTags(&b)
	b.WriteString("</head>\n<body>\n")
	kinds[1].writeTags(&b)
	kinds[2].writeTags(&b)
	b.WriteString(documentTail)
	return b.String()
}

func (k kind) writeTags(b *strings.Builder) {
	for n := 1; n <= k.count; n++ {
		fmt.Fprintf(b, k.tag, fmt.Sprintf(k.path, n))
	}
}

// The icon keeps browsers from asking for /favicon.ico. The timing buffer
// holds 250 entries unless told otherwise, and tells nobody when it is full.
const documentHead = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>wiretest page</title>
<link rel="icon" href="data:,">
<script>
performance.setResourceTimingBufferSize(1e6);
const failed = [];
addEventListener("error", e => { if (e.target.src) failed.push(e.target.src); }, true);
const loaded = new Promise(done => addEventListener("load", done));
</script>
`

// The report is posted when the document's load event was dispatched and every
// API call has ended, well or not.
const documentTail = `<script>
const call = async url => {
  try {
    const answer = await fetch(url);
    await answer.text();
    if (!answer.ok) failed.push(url);
  } catch (e) {
    failed.push(url);
  }
};
const calls = [...document.querySelectorAll("link[as=fetch]")].map(link => call(link.href));
const entry = e => ({
  name: e.name, nextHopProtocol: e.nextHopProtocol, startTime: e.startTime, requestStart: e.requestStart,
  responseStart: e.responseStart, responseEnd: e.responseEnd, transferSize: e.transferSize,
});
const report = async () => {
  await Promise.all([loaded, ...calls]);
  const done = performance.now();
  const entries = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].map(entry);
  await fetch("` + ReportPath + `", {
    method: "POST",
    headers: {"Content-Type": "application/json"},
    body: JSON.stringify({done, failed, entries}),
  });
};
report();
</script>
</body>
</html>
`
