package shown

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// readme is seen from the folder of an example, where its tests run.
const readme = "../../README.md"

// InReadme fails unless the README holds text as it comes out today, in the block
// of code below the line <!-- name -->. With update it writes it there instead;
// examples that update at the same time (go test does unless -p is 1) would
// overwrite each other's.
func InReadme(t *testing.T, update bool, name, text string) {
	t.Helper()
	kept, err := os.ReadFile(filepath.FromSlash(readme))
	if err != nil {
		t.Fatal(err)
	}
	now, err := replaced(string(kept), name, text)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case now == string(kept):
	case update:
		if err := os.WriteFile(filepath.FromSlash(readme), []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("README.md: what stands below <!-- %s --> is not what comes out:\n%s\ngo test -p 1 -run %s ./examples/... -update writes it anew", name, text, t.Name())
	}
}

// replaced is the README with text in the block of that name.
func replaced(readme, name, text string) (string, error) {
	const fence = "```\n"
	mark := "<!-- " + name + " -->\n" + fence
	before, rest, ok := strings.Cut(readme, mark)
	if !ok {
		return "", fmt.Errorf("README.md: no block of code below <!-- %s -->", name)
	}
	_, after, ok := strings.Cut(rest, "\n"+fence)
	if !ok {
		return "", fmt.Errorf("README.md: the block of code below <!-- %s --> does not end", name)
	}
	return before + mark + strings.TrimRight(trimmed(text), "\n") + "\n" + fence + after, nil
}

// trimmed is without spaces at the ends of lines, which editors take out.
func trimmed(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return out.String()
}
