//go:build !race

package chromefile

const raceDetector = false
