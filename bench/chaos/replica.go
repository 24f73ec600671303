package main

import (
	"context"
	"os/exec"
	"syscall"
	"time"

	"github.com/stowage-scheduler/stowage/bench/process"
)

// replica is a server's process behind a proxy.
type replica struct {
	command string
	proxy   *proxy
	process *process.Process
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
	p, err := process.Start(exec.Command(r.command, //nolint:noctx // it is stopped
		"--listen-address=127.0.0.1:0", "--admin-address=127.0.0.1:0", "--drain-delay=1s", "--shutdown-grace-period=5s", "--log-level=info"))
	if err != nil {
		return err
	}
	r.process = p
	r.proxy.target.Store(&p.Address)
	return nil
}

func (r *replica) signal(s syscall.Signal) error { return r.process.Process.Signal(s) }

// restart ends the process and starts another one after a while.
func (r *replica) restart(ctx context.Context, signal syscall.Signal) error {
	if err := r.process.End(signal); err != nil {
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
