//go:build !go1.27

package mitm

const headsWait = false
