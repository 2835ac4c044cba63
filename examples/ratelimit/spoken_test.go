package ratelimit

import (
	"fmt"
	"testing"
)

// spoken is a testing.TB that keeps what a failure says.
type spoken struct {
	testing.TB
	text string
}

func (s *spoken) Helper() {}

func (s *spoken) Fatalf(format string, args ...any) {
	s.text = fmt.Sprintf(format, args...)
	panic(s)
}

// run lets fail end where it fails, as a test would.
func (s *spoken) run(fail func()) {
	defer func() {
		if r := recover(); r != nil && r != any(s) {
			panic(r)
		}
	}()
	fail()
}
