//go:build race

// A fifth of what most tests cost under the race detector is the arithmetic of
// ML-KEM in handshakes. Without it they have ML-KEM.
//go:debug tlsmlkem=0

package mitm_test

// raceDetector makes everything ten times slower.
const raceDetector = true
