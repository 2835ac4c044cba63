package alpn_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/wiretest/alpn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestValidate(t *testing.T) {
	var many []string
	for i := range 300 {
		many = append(many, strings.Repeat("x", 250)+fmt.Sprint(i))
	}
	for _, c := range []struct {
		policy alpn.Policy
		want   string // what the error ends in; "" is valid
	}{
		{alpn.Policy{}, ""},
		{alpn.None(), ""},
		{alpn.Prefer(alpn.H2, alpn.HTTP11), ""},
		{alpn.Only(alpn.HTTP10), ""},
		{alpn.Only("\x0a\x0a"), ""},
		{alpn.Only(strings.Repeat("x", 255)), ""},
		{alpn.Only(), `alpn: Only(): no protocol; None() is the policy without one`},
		{alpn.Prefer(), `alpn: Prefer(): no protocol; None() is the policy without one`},
		{alpn.Prefer("h2", ""), `alpn: Prefer("h2", ""): empty protocol name`},
		{alpn.Only("h2", "http/1.1", "h2"), `alpn: Only("h2", "http/1.1", "h2"): "h2" twice`},
		{alpn.Prefer(alpn.H3, alpn.H2), `alpn: Prefer("h3", "h2"): "h3" runs over QUIC; a policy rules TLS over TCP only`},
		{alpn.Only(strings.Repeat("x", 256)), `: protocol name of 256 bytes; at most 255 fit (RFC 7301, section 3.1)`},
		{alpn.Only(many...), `: 76090 bytes of protocol names do not fit one extension`},
	} {
		err := c.policy.Validate()
		if c.want == "" {
			assert.NoError(t, err, c.policy)
			continue
		}
		if assert.Error(t, err, c.policy) && !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("got  %v\nwant …%s", err, c.want)
		}
	}
}

func TestPolicyIsACopy(t *testing.T) {
	names := []string{alpn.H2, alpn.HTTP11}
	prefer, only := alpn.Prefer(names...), alpn.Only(names...)
	names[0] = "changed"
	prefer.Protocols()[0] = "changed"
	for _, p := range []alpn.Policy{prefer, only} {
		assert.Equal(t, []string{alpn.H2, alpn.HTTP11}, p.Protocols(), p)
	}
	cfg := only.Client(nil)
	cfg.NextProtos[0] = "changed"
	assert.Equal(t, []string{alpn.H2, alpn.HTTP11}, only.Protocols())
}

func TestOrAndString(t *testing.T) {
	assert.True(t, alpn.Policy{}.IsZero())
	for _, p := range []alpn.Policy{alpn.None(), alpn.Only(), alpn.Prefer()} {
		assert.False(t, p.IsZero(), p)
		assert.Equal(t, p, p.Or(alpn.Only(alpn.H2)))
		assert.Equal(t, p, alpn.Policy{}.Or(p))
	}
	assert.Equal(t, `Policy{} None() Only("h2")`, fmt.Sprint(alpn.Policy{}, alpn.None(), alpn.Only(alpn.H2)))
	assert.Nil(t, alpn.None().Protocols())
}

func TestChooseRefusalNamesBoth(t *testing.T) {
	_, err := alpn.Only(alpn.H2).Choose([]string{alpn.HTTP11, alpn.HTTP10})
	require.EqualError(t, err, `alpn: Only("h2"): refused: client offered "http/1.1", "http/1.0", wanted "h2"`)
	_, err = alpn.Only(alpn.H2, alpn.HTTP10).Choose(nil)
	require.EqualError(t, err, `alpn: Only("h2", "http/1.0"): refused: client offered no ALPN, wanted "h2", "http/1.0"`)
	proto, err := alpn.Policy{}.Choose([]string{alpn.H2})
	require.NoError(t, err)
	require.Empty(t, proto)
}
