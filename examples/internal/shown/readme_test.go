package shown

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReplaced(t *testing.T) {
	const before = "a\n<!-- x -->\n```\nold\n\nlines\n```\nb\n```\nc\n```\n"
	now, err := replaced(before, "x", "new  \n\n")
	assert.NoError(t, err)
	assert.Equal(t, "a\n<!-- x -->\n```\nnew\n```\nb\n```\nc\n```\n", now)
	for name, text := range map[string]string{"y": before, "x": "<!-- x -->\n```\nold"} {
		_, err = replaced(text, name, "new")
		assert.ErrorContains(t, err, "<!-- "+name+" -->")
	}
}
