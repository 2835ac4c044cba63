package chrome

import (
	"errors"
	"fmt"
	"os/exec"
)

// Package is the Debian package that has to be installed where Find finds
// nothing.
const Package = "chromium-headless-shell"

// candidates are names in PATH and places of installation.
var candidates = [...]string{
	"chromium-headless-shell",
	"chrome-headless-shell",
	"chromium",
	"chromium-browser",
	"google-chrome",
	"google-chrome-stable",
	"/Applications/Chromium.app/Contents/MacOS/Chromium",
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
}

// Find returns the path of the browser that a Config without a Binary runs, or
// an error that says what to install.
func Find() (string, error) {
	path, err := find("")
	if err != nil {
		return "", fmt.Errorf("chrome: %w", err)
	}
	return path, nil
}

func find(binary string) (string, error) {
	if binary != "" {
		path, err := exec.LookPath(binary)
		if err != nil {
			return "", fmt.Errorf("Config.Binary: %q: %w", binary, reason(err))
		}
		return path, nil
	}
	for _, name := range candidates {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("browser: none is installed: it is in the Debian package " + Package)
}

// reason is what is wrong, without the name again.
func reason(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}
