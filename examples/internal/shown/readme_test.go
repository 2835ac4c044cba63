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
	now, err = replaced("<!-- x -->\n```\n```\nb\n```\n", "x", "new")
	assert.NoError(t, err)
	assert.Equal(t, "<!-- x -->\n```\nnew\n```\nb\n```\n", now, "of an empty block")
	for name, text := range map[string]string{"y": before, "x": "<!-- x -->\n```\nold"} {
		_, err = replaced(text, name, "new")
		assert.ErrorContains(t, err, "<!-- "+name+" -->")
	}
}

func TestMasked(t *testing.T) {
	const a, b = "mode  took\nh3    1.5ms  2\nh2    3s\n", "mode    took\nh3    10ms  0s\nh2  3s\n"
	assert.Equal(t, masked(a, "h3"), masked(b, "h3"))
	assert.NotEqual(t, masked(a, "h2"), masked(b, "h2"), "what h3 took")
	assert.NotEqual(t, masked(a, ""), masked(b, ""))
}
