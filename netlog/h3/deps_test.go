package h3_test

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Who uses these compiles no QUIC.
func TestOnlyUsersOfHTTP3CompileQUIC(t *testing.T) {
	const module, quic = "example.com/wiretest/", "github.com/quic-go/"
	for _, pkg := range []string{"alpn", "ca", "netlog", "netlog/wire", "netlog/chrome", "linkdelay", "mitm", "origin/pageload"} {
		for _, dep := range depsOf(t, module+pkg) {
			assert.False(t, strings.HasPrefix(dep, quic), "%s compiles %s", pkg, dep)
		}
	}
	assert.Contains(t, depsOf(t, module+"netlog/h3"), quic+"quic-go", "what the test looks for")
}

func depsOf(t *testing.T, pkg string) []string {
	t.Helper()
	goTool, err := exec.LookPath("go")
	if err != nil {
		goTool = filepath.Join(runtime.GOROOT(), "bin", "go")
	}
	out, err := exec.CommandContext(t.Context(), goTool, "list", "-deps", pkg).Output()
	require.NoError(t, err, "go list -deps %s", pkg)
	return strings.Fields(string(out))
}
