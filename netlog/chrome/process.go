package chrome

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
)

// process is a browser as the system sees it.
type process struct {
	cmd      *exec.Cmd
	commands *os.File      // what is written here the browser reads
	answers  *os.File      // what the browser writes
	ended    chan struct{} // closed when the browser, or the script that runs it, has ended
	err      error         // how; written before ended is closed
}

func launch(c *Config, dir folder) (*process, error) {
	if !supported {
		return nil, errors.New("not on " + runtime.GOOS + ": there a browser cannot be given the pipes over which it is told to end")
	}
	cmd := exec.Command(c.Binary, c.args(dir)...)
	cmd.Env = dir.environment()
	inGroup(cmd)
	stderr, err := os.Create(dir.stderr())
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	cmd.Stderr = stderr // a file, so that no child that lives on can keep Wait waiting
	p := &process{cmd: cmd, ended: make(chan struct{})}
	if err := p.start(); err != nil {
		return nil, err
	}
	go p.wait() // ends with the browser; kill waits for it
	return p, nil
}

// start starts the browser with descriptors 3, from which it reads, and 4, to
// which it writes.
func (p *process) start() error {
	reads, commands, err := os.Pipe()
	if err != nil {
		return err
	}
	defer reads.Close()
	answers, writes, err := os.Pipe()
	if err != nil {
		commands.Close()
		return err
	}
	defer writes.Close()
	p.cmd.ExtraFiles = []*os.File{reads, writes}
	p.commands, p.answers = commands, answers
	if err := p.cmd.Start(); err != nil {
		p.closePipes()
		return err
	}
	return nil
}

func (p *process) wait() {
	p.err = p.cmd.Wait()
	close(p.ended)
}

// kill ends what is left of the browser, and waits until it is gone.
func (p *process) kill() {
	killGroup(p.cmd.Process.Pid)
	<-p.ended
	awaitGroup(p.cmd.Process.Pid)
	p.closePipes()
}

func (p *process) closePipes() {
	p.commands.Close()
	p.answers.Close()
}
