package chrome_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"log"
	"os"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/chrome"
	"example.com/wiretest/origin"
)

// These have no output to compare: they would fail where no browser is.

func ExampleRun() {
	site, err := origin.Start(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer site.Close()
	leaf, err := site.CA().Leaf() // for this machine
	if err != nil {
		log.Fatal(err)
	}
	result, err := chrome.Run(context.Background(), site.URL, &chrome.Config{
		Trust: []*x509.Certificate{leaf.Leaf},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Log.Connections(netlog.Used()))
}

// Two pages by one browser, the second over what the first left open.
func ExampleStart() {
	browser, err := chrome.Start(&chrome.Config{NetLog: os.TempDir() + "/two.json"})
	if err != nil {
		log.Fatal(err)
	}
	defer browser.Close()
	for _, url := range []string{"https://example.com/one", "https://example.com/two"} {
		if err := browser.Open(context.Background(), url); err != nil {
			log.Fatal(err)
		}
	}
	result, err := browser.Finish()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.NetLog, result.Log)
}
