package shown

import (
	"fmt"
	"testing"
)

// Failure is what check says when it fails, which it must: an assertion is only
// as good as that.
func Failure(t *testing.T, check func(testing.TB)) string {
	t.Helper()
	said := &spoken{TB: t}
	said.run(check)
	if said.text == "" {
		t.Fatal("the check does not fail")
	}
	return said.text
}

// spoken keeps what a failure says.
type spoken struct {
	testing.TB
	text string
}

func (s *spoken) Helper() {}

func (s *spoken) Fatalf(format string, args ...any) {
	s.text = fmt.Sprintf(format, args...)
	panic(s)
}

// run lets check end where it fails, as a test would.
func (s *spoken) run(check func(testing.TB)) {
	defer func() {
		if r := recover(); r != nil && r != any(s) {
			panic(r)
		}
	}()
	check(s)
}
