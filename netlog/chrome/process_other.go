//go:build !unix

package chrome

import "os/exec"

const supported = false

func inGroup(*exec.Cmd) {}
func killGroup(int)     {}
func awaitGroup(int)    {}
