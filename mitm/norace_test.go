//go:build !race

package mitm_test

const raceDetector = false
