package netlog_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// fakeTB is a test that may fail without failing this one.
type fakeTB struct {
	testing.TB
	failed   bool
	said     strings.Builder
	cleanups []func()
	dir      string
}

func (f *fakeTB) Helper()             {}
func (f *fakeTB) Failed() bool        { return f.failed }
func (f *fakeTB) Cleanup(do func())   { f.cleanups = append(f.cleanups, do) }
func (f *fakeTB) ArtifactDir() string { return f.dir }
func (f *fakeTB) Logf(format string, args ...any) {
	fmt.Fprintf(&f.said, format+"\n", args...)
}

func (f *fakeTB) Errorf(format string, args ...any) {
	f.failed = true
	f.Logf(format, args...)
}

func (f *fakeTB) Fatalf(format string, args ...any) {
	f.failed = true
	f.Logf(format, args...)
	runtime.Goexit()
}

// run runs body as a test and returns what it said.
func (f *fakeTB) run(body func(tb testing.TB)) string {
	done := make(chan struct{})
	go func() { // ended by Goexit, waited for below
		defer close(done)
		body(f)
	}()
	<-done
	for _, do := range f.cleanups {
		do()
	}
	return f.said.String()
}
