package pageload

import (
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMistakenConfig(t *testing.T) {
	dialTLS := func(context.Context, string, string) (net.Conn, error) { return nil, nil }
	for _, c := range []struct {
		cfg  *Config
		want string
	}{
		{nil, "pageload: Config is nil: want URL or URLs"},
		{&Config{}, "pageload: Config: neither URL nor URLs is set: want a page or a batch"},
		{&Config{URL: "https://a.test", URLs: []string{"https://a.test"}}, "pageload: Config.URL and Config.URLs are both set: want a page or a batch"},
		{&Config{URL: "a.test/page"}, `pageload: Config.URL: "a.test/page": want an absolute http or https URL`},
		{&Config{URL: "ftp://a.test/"}, `pageload: Config.URL: "ftp://a.test/": want an absolute http or https URL`},
		{&Config{URLs: []string{"https://a.test/", "https://a.test:port/"}}, `pageload: Config.URLs[1]: parse "https://a.test:port/": invalid port ":port" after host`},
		{&Config{URL: "https://a.test", PerHost: -1}, "pageload: Config.PerHost: -1 is negative"},
		{&Config{URL: "https://a.test", Transport: &http.Transport{DialTLSContext: dialTLS}},
			"pageload: Config.Transport.DialTLSContext is set: a load does its own TLS to see what was negotiated"},
	} {
		result, err := Load(t.Context(), c.cfg)
		assert.EqualError(t, err, c.want)
		assert.Nil(t, result)
	}
}
