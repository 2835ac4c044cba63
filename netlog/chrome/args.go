package chrome

import (
	"fmt"
	"os"
	"strings"
)

// always are the arguments of every browser: no first-run pages, no traffic on
// the browser's own account, nothing that waits for a person, a keyring or a
// graphics card, and no slowing down of a page that nobody looks at.
var always = [...]string{
	"--headless",
	"--remote-debugging-pipe",
	"--no-first-run",
	"--no-default-browser-check",
	"--disable-background-networking",
	"--disable-client-side-phishing-detection",
	"--disable-component-extensions-with-background-pages",
	"--disable-component-update",
	"--disable-default-apps",
	"--disable-domain-reliability",
	"--disable-extensions",
	"--disable-sync",
	"--no-pings",
	"--metrics-recording-only",
	"--disable-breakpad",
	"--password-store=basic",
	"--use-mock-keychain",
	"--disable-gpu",
	"--disable-dev-shm-usage", // in most containers it has 64 MB, and pages crash
	"--disable-background-timer-throttling",
	"--disable-backgrounding-occluded-windows",
	"--disable-renderer-backgrounding",
}

// disabled are features that would ask servers of their own.
var disabled = [...]string{
	"AutofillServerCommunication",
	"CertificateTransparencyComponentUpdater",
	"DialMediaRouteProvider",
	"MediaRouter",
	"NetworkTimeServiceQuerying",
	"OptimizationHints",
	"Translate",
}

// maker are hosts that Chromium asks on its own account although it was told
// not to. They do not resolve, and no proxy sees them: a test is not to reach
// the world.
var maker = [...]string{
	"accounts.google.com",
	"android.clients.google.com",
	"clients2.google.com",
	"content-autofill.googleapis.com",
	"mtalk.google.com",
	"optimizationguide-pa.googleapis.com",
	"redirector.gvt1.com",
	"safebrowsing.googleapis.com",
	"update.googleapis.com",
	"www.googleapis.com",
}

// ruled are the arguments that Args must not hold, and what is to be used
// instead; "" is nothing.
var ruled = map[string]string{
	"--headless":                            "",
	"--host-resolver-rules":                 "HostRules",
	"--host-rules":                          "HostRules",
	"--ignore-certificate-errors-spki-list": "Trust or SPKIHashes",
	"--log-net-log":                         "NetLog",
	"--net-log-capture-mode":                "CaptureMode",
	"--net-log-file-format":                 "NDJSON",
	"--enable-quic":                         "QUIC",
	"--disable-quic":                        "QUIC",
	"--origin-to-force-quic-on":             "ForceQUIC",
	"--no-proxy-server":                     "Proxy",
	"--proxy-auto-detect":                   "Proxy",
	"--proxy-bypass-list":                   "Proxy",
	"--proxy-pac-url":                       "Proxy",
	"--proxy-server":                        "Proxy",
	"--remote-debugging-io-pipes":           "",
	"--remote-debugging-pipe":               "",
	"--remote-debugging-port":               "",
	"--user-data-dir":                       "",
}

func validArgs(args []string) error {
	for i, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		field, isRuled := ruled[name]
		switch {
		case !strings.HasPrefix(arg, "--") || arg == "--":
			return fmt.Errorf("Config.Args[%d]: %q: must begin with -- and a name; Open opens pages", i, arg)
		case isRuled && field == "":
			return fmt.Errorf("Config.Args[%d]: %q: the package needs %s for itself", i, arg, name)
		case isRuled:
			return fmt.Errorf("Config.Args[%d]: %q: use Config.%s", i, arg, field)
		}
	}
	return nil
}

// args is the command line of a browser that has its files in dir.
func (c *Config) args(dir folder) []string {
	args := append(always[:len(always):len(always)], "--user-data-dir="+dir.profile(), "--log-net-log="+c.NetLog)
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox")
	}
	args = append(args, c.netLogArgs()...)
	args = append(args, c.networkArgs()...)
	args = append(args, c.extraArgs()...)
	return append(args, "about:blank")
}

func (c *Config) netLogArgs() (args []string) {
	if c.CaptureMode != CaptureDefault {
		args = append(args, "--net-log-capture-mode="+string(c.CaptureMode))
	}
	if c.NDJSON {
		args = append(args, "--net-log-file-format=ndjson")
	}
	return args
}

func (c *Config) networkArgs() []string {
	rules := append([]string(nil), c.HostRules...) // the first that matches counts
	for _, host := range maker {
		rules = append(rules, "MAP "+host+" ~NOTFOUND")
	}
	args := []string{"--host-resolver-rules=" + strings.Join(rules, ", ")}
	if c.Proxy == "" {
		args = append(args, "--no-proxy-server")
	} else {
		// Chromium connects to loopback directly unless this rule is there.
		bypass := append([]string{"<-loopback>"}, maker[:]...)
		args = append(args, "--proxy-server="+strings.TrimSuffix(c.Proxy, "/"), "--proxy-bypass-list="+strings.Join(bypass, ";"))
	}
	if len(c.SPKIHashes) > 0 {
		args = append(args, "--ignore-certificate-errors-spki-list="+strings.Join(c.SPKIHashes, ","))
	}
	switch {
	case len(c.ForceQUIC) > 0:
		return append(args, "--enable-quic", "--origin-to-force-quic-on="+strings.Join(c.ForceQUIC, ","))
	case c.QUIC:
		return append(args, "--enable-quic")
	}
	return append(args, "--disable-quic")
}

// extraArgs are Args with disabled put to the features that they disable,
// because of two such arguments Chromium forgets the first.
func (c *Config) extraArgs() (args []string) {
	const disable = "--disable-features="
	features := disabled[:len(disabled):len(disabled)]
	for _, arg := range c.Args {
		if more, ok := strings.CutPrefix(arg, disable); ok {
			features = append(features, more)
			continue
		}
		args = append(args, arg)
	}
	return append(args, disable+strings.Join(features, ","))
}
