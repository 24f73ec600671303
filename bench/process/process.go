// Package process runs servers as processes of their own.
package process

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"syscall"
)

// Process is a server that serves.
type Process struct {
	*exec.Cmd
	// Address and Admin are the addresses that it listens on.
	Address, Admin string
	read           chan struct{} // closed at the end of its log
}

var errSilent = errors.New("the server did not say where it listens")

// Start starts a server's command, and waits until it serves. Its log level must be info or lower.
func Start(command *exec.Cmd) (*Process, error) {
	s := &Process{Cmd: command, read: make(chan struct{})}
	log, err := s.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.Cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReaderSize(log, 1<<20)
	for s.Address == "" {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil, errors.Join(errSilent, err, s.Wait())
		}
		var serving struct {
			Msg     string `json:"msg"`
			Address string `json:"address"`
			Admin   string `json:"admin_address"`
		}
		if json.Unmarshal(line, &serving) == nil && serving.Msg == "serving" {
			s.Address, s.Admin = serving.Address, serving.Admin
		}
	}
	go func() {
		defer close(s.read)
		_, _ = io.Copy(io.Discard, lines)
	}()
	return s, nil
}

// End ends the process by a signal and waits for its exit. The error of a killed process is ignored.
func (s *Process) End(signal syscall.Signal) error {
	if err := s.Process.Signal(signal); err != nil {
		return err
	}
	<-s.read
	if err := s.Wait(); signal != syscall.SIGKILL {
		return err
	}
	return nil
}
