//go:build go1.27

package mitm_test

const headsWait = true
