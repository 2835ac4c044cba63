package probeh3_test

import (
	"context"
	"fmt"

	"example.com/wiretest/alpn"
	"example.com/wiretest/alpn/probeh3"
	"example.com/wiretest/origin"
)

// Does this server speak HTTP/3? It could be any: a host and a port.
func ExampleProbe() {
	site, err := origin.Start(&origin.Config{Handler: hello, HTTP3: new(origin.HTTP3)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer site.Close()
	r, err := probeh3.Probe(context.Background(), site.Addr, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Protocols(), r.Issuer())
	refused, _ := r.Answer(alpn.Unknown)
	fmt.Println(refused)
	// Output:
	// map[h3:h3] wiretest origin CA
	// alert 120 (no application protocol)
}
