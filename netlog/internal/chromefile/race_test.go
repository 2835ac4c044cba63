//go:build race

package chromefile

// raceDetector makes everything ten times slower.
const raceDetector = true
