package wire

import (
	"fmt"
	"math"
	"reflect"
)

// What every fixture checks in its Config; it puts its own name and that of the part
// before the error.

// IsTypedNil finds the nil pointer in an interface that is not nil, which would
// panic much later and far from the mistake.
func IsTypedNil(v any) bool {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan:
		return r.IsNil()
	}
	return false
}

// CheckCount says that the field's n is no limit or size: those of HTTP/2 have 31
// bits (RFC 9113, sections 5.1.2 and 6.9.1).
func CheckCount(field string, n int) error {
	if n < 0 || n > math.MaxInt32 {
		return fmt.Errorf("%s: %d: must be from 0 to %d", field, n, math.MaxInt32)
	}
	return nil
}

// CheckConnWindow is CheckCount for the window of an HTTP/2 connection: it begins
// with 65,535 bytes, which no setting can lower (RFC 9113, section 6.9.2), and
// net/http takes less for nothing said.
func CheckConnWindow(field string, n int) error {
	if n > 0 && n < defaultWindow {
		return fmt.Errorf("%s: %d: must be 0 or at least %d (RFC 9113, section 6.9.2)", field, n, defaultWindow)
	}
	return CheckCount(field, n)
}

// CheckFaults says what is mistaken in the field's Faults.
func CheckFaults(field string, all []Fault) error {
	for i, f := range all {
		if f.Request < 0 {
			return fmt.Errorf("%s[%d]: Request: %d is negative", field, i, f.Request)
		}
		if f.Do == nil {
			return fmt.Errorf("%s[%d]: Do is nil: nothing would go wrong", field, i)
		}
	}
	return nil
}
