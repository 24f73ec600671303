package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// startTimeout is how long a process may take to become ready; on a busy machine of two cores it takes up to 15 s.
const startTimeout = 5 * time.Minute

// Process is a child process that can be ended and started again, with the same arguments. It is safe for concurrent use.
type Process struct {
	Name    string
	path    string
	args    []string
	dir     string
	log     string
	ready   func(context.Context) error
	mutex   sync.Mutex
	command *exec.Cmd
	ended   chan struct{} // closed when the command has ended
}

// Start starts the process and waits until it is ready.
func (p *Process) Start(ctx context.Context) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.running() {
		return fmt.Errorf("%s is running", p.Name)
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	command := exec.Command(p.path, p.args...)
	command.Dir, command.Stdout, command.Stderr = p.dir, log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error), make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { _ = log.Close() }()
		// The kernel ends the child with the thread that started it, so the thread is kept until then.
		runtime.LockOSThread()
		err := command.Start()
		started <- err
		if err == nil {
			_ = command.Wait() // how it ended is in its log
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	p.command, p.ended = command, ended
	if err := p.untilReady(ctx); err != nil {
		p.signal(syscall.SIGKILL)
		<-ended
		return fmt.Errorf("%s: %w; the end of its log:\n%s", p.Name, err, p.Tail(20))
	}
	return nil
}

func (p *Process) untilReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := p.ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return errors.New("ended instead of becoming ready")
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w", err)
		case <-time.After(30 * time.Millisecond):
		}
	}
}

// Kill ends the process as kill -9 does.
func (p *Process) Kill() { p.end(syscall.SIGKILL, 0) }

// Stop asks the process to end, and kills it if it has not after 20 s.
func (p *Process) Stop() { p.end(syscall.SIGTERM, 20*time.Second) }

func (p *Process) end(signal syscall.Signal, grace time.Duration) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !p.running() {
		return
	}
	p.signal(signal)
	if grace > 0 {
		select {
		case <-p.ended:
		case <-time.After(grace):
			p.signal(syscall.SIGKILL)
		}
	}
	<-p.ended
}

// Pause stops the process from running until Resume, as a machine that hangs does.
func (p *Process) Pause() { p.signalRunning(syscall.SIGSTOP) }

// Resume lets a paused process run.
func (p *Process) Resume() { p.signalRunning(syscall.SIGCONT) }

func (p *Process) signalRunning(signal syscall.Signal) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.running() {
		p.signal(signal)
	}
}

func (p *Process) signal(signal syscall.Signal) {
	_ = p.command.Process.Signal(signal) // it may have ended by now
}

// Running reports whether the process has been started and has not ended.
func (p *Process) Running() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.running()
}

func (p *Process) running() bool {
	if p.command == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// ProcessorTime is what the process, since it was last started, has had of processors.
func (p *Process) ProcessorTime() (time.Duration, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !p.running() {
		return 0, fmt.Errorf("%s is not running", p.Name)
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The fields after the command's name, which may hold anything, proc(5): utime is the 12th, stime the 13th.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	var user, system int64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		return 0, err
	}
	const ticksPerSecond = 100 // USER_HZ
	return time.Duration(user+system) * time.Second / ticksPerSecond, nil
}

// Tail is the last lines of what the process wrote.
func (p *Process) Tail(lines int) string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// Log is the file that the process writes to.
func (p *Process) Log() string { return p.log }

func newProcess(dir, name, path string, ready func(context.Context) error, args []string) *Process {
	return &Process{Name: name, path: path, args: args, dir: dir, log: filepath.Join(dir, name+".log"), ready: ready}
}
