package origin

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"

	"example.com/wiretest/netlog/wire"
)

// check panics with the first mistake, if there is one. It is for what has no
// error to return, and says what an error of Start would: whose argument or field
// it is, its name, and its value.
func check(of string, mistakes ...error) {
	if err := cmp.Or(mistakes...); err != nil {
		panic("origin: " + of + ": " + err.Error())
	}
}

func notNegative[N ~int | ~int64](name string, n N) error {
	if n < 0 {
		return fmt.Errorf("%s: %v is negative", name, n)
	}
	return nil
}

func atLeast[N ~int | ~int64](name string, n, least N) error {
	if n < least {
		return fmt.Errorf("%s: %v: want at least %v", name, n, least)
	}
	return nil
}

func notNil(next http.Handler) error {
	if next == nil || wire.IsTypedNil(next) {
		return errors.New("next is nil")
	}
	return nil
}

func validDebug(debug string) error {
	if len(debug) > wire.MaxDebug {
		return fmt.Errorf("debug: %d bytes: want at most %d", len(debug), wire.MaxDebug)
	}
	return nil
}

func validLast(last int64) error {
	if last < 0 || last > math.MaxInt32 {
		return fmt.Errorf("last: %d: want 0 to %d", last, math.MaxInt32)
	}
	return nil
}

func validShare(p float64) error {
	if !(p >= 0 && p <= 1) { // NaN is neither
		return fmt.Errorf("p: %v: want 0 to 1", p)
	}
	return nil
}
