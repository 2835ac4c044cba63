// Package chrome runs a headless Chromium against a page and returns what the
// browser itself recorded on the way: its NetLog.
//
//	site := origin.New(t, nil)
//	leaf, _ := site.CA().Leaf() // what it presents at 127.0.0.1
//	result, err := chrome.Run(t.Context(), site.URL, &chrome.Config{
//		Trust: []*x509.Certificate{leaf.Leaf},
//	})
//	if err != nil {
//		t.Fatal(err)
//	}
//	netlog.RequireConnections(t, result.Log, 1, "h2", netlog.Host(site.Addr), netlog.Used())
//
// [Run] is for one page. [New] and [Start] give a [Browser] that opens pages one
// after the other, with the caches, connections and Alt-Svc entries that a
// browser keeps in between.
//
// Every browser has a profile of its own, which begins empty and is removed
// with all else that the browser wrote, but for the NetLog. The user's own
// settings, home folder and proxy are not seen. Of what Chromium asks its
// maker's servers on its own account, what can be switched off is, and the
// hosts of the rest do not resolve.
//
// A browser is told to end over --remote-debugging-pipe, because no signal makes
// it finish its NetLog. That needs Unix: on other systems Start fails. A browser
// also ends when the program that started it does.
package chrome
