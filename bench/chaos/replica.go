package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"syscall"
	"time"
)

// replica is a server's process behind a proxy.
type replica struct {
	command string
	proxy   *proxy
	process *exec.Cmd
	read    chan struct{} // closed at the end of its log
}

func newReplica(ctx context.Context, command string) (*replica, error) {
	p, err := newProxy(ctx)
	if err != nil {
		return nil, err
	}
	r := &replica{command: command, proxy: p}
	return r, r.start()
}

// start starts a process with the default settings, and waits until it serves.
func (r *replica) start() error {
	r.process = exec.Command(r.command, "--listen-address=127.0.0.1:0", "--admin-address=127.0.0.1:0", //nolint:noctx // it is stopped
		"--drain-delay=1s", "--shutdown-grace-period=5s", "--log-level=info")
	log, err := r.process.StderrPipe()
	if err != nil {
		return err
	}
	if err := r.process.Start(); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(log, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return errors.Join(err, r.process.Wait())
		}
		var serving struct{ Msg, Address string }
		if json.Unmarshal(line, &serving) == nil && serving.Msg == "serving" {
			r.proxy.target.Store(&serving.Address)
			break
		}
	}
	r.read = make(chan struct{})
	go func() {
		defer close(r.read)
		_, _ = io.Copy(io.Discard, lines)
	}()
	return nil
}

// end ends the process by a signal and waits for that.
func (r *replica) end(signal syscall.Signal) error {
	if err := r.process.Process.Signal(signal); err != nil {
		return err
	}
	<-r.read
	err := r.process.Wait()
	if signal == syscall.SIGKILL {
		return nil
	}
	return err
}

func (r *replica) signal(s syscall.Signal) error { return r.process.Process.Signal(s) }

// restart ends the process and starts another one after a while.
func (r *replica) restart(ctx context.Context, signal syscall.Signal) error {
	if err := r.end(signal); err != nil {
		return err
	}
	sleep(ctx, time.Second)
	return r.start()
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
