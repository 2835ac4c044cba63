//go:build race

package mitm_test

// raceDetector makes everything ten times slower.
const raceDetector = true
