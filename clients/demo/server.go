package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
)

// demoServer is a running server process.
type demoServer struct {
	address string
	command *exec.Cmd
	logRead chan struct{}
}

// startServer starts a server on a free port of loopback, and waits for the log line that says that it serves.
func startServer(ctx context.Context, binary string) (*demoServer, error) {
	s := &demoServer{command: exec.CommandContext(ctx, binary, "--listen-address=127.0.0.1:0", "--admin-address=127.0.0.1:0", "--drain-delay=0s"),
		logRead: make(chan struct{})}
	log, err := s.command.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	serving := make(chan string, 1)
	go func() {
		defer close(s.logRead)
		defer close(serving)
		lines := bufio.NewScanner(log)
		for lines.Scan() {
			var line struct{ Msg, Address string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
				serving <- line.Address
			}
		}
	}()
	s.address = <-serving
	if s.address == "" {
		return nil, errors.Join(fmt.Errorf("%s did not start", strings.Join(s.command.Args, " ")), s.command.Wait())
	}
	return s, nil
}

func (s *demoServer) stop() {
	// The demo is over: how the server ends does not matter.
	_ = s.command.Process.Signal(syscall.SIGTERM)
	<-s.logRead
	_ = s.command.Wait()
}
