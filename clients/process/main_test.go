package process_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stowage-scheduler/stowage/clients/process"
)

// toy is a command that serves the admin endpoints.
type toy struct {
	process.Settings `set:"admin_address=127.0.0.1:0"`
	Fail             bool
	Terminate        bool
}

// Run implements process.Command.
func (c *toy) Run(ctx context.Context, log *slog.Logger) (err error) {
	if c.Fail {
		return errors.New("failed as requested")
	}
	log.Debug("starting")
	p, err := process.Start(ctx, "toy", &c.Settings, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close(ctx)) }()
	ready := false
	admin, err := p.ListenAdmin(ctx, func() bool { return ready })
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- admin.Serve() }()
	for _, want := range []string{"503 Service Unavailable", "200 OK"} {
		if got := status(admin.Addr().String()); got != want {
			return errors.New("/readyz answers " + got)
		}
		ready = true
	}
	log.Info("ready")
	if c.Terminate {
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond) // what it would take to end
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			return err
		}
		<-ctx.Done()
	}
	err = errors.Join(admin.Close(), <-served)
	log.Info("stopped")
	return err
}

func status(address string) string {
	r, err := http.Get("http://" + address + "/readyz")
	if err != nil {
		return err.Error()
	}
	r.Body.Close()
	return r.Status
}

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"toy": func() { process.Main("stowage-toy", "Is a test.", &toy{}) }})
}

func TestMainEndsTheProcess(t *testing.T) {
	for _, c := range []struct {
		args, env string
		code      int
		stderr    []string
	}{
		{args: "--log-level=loud", code: 2, stderr: []string{"--log-level must be one of"}},
		{args: "--admin-address=nowhere --stowage-patience=-1s", code: 2, stderr: []string{
			`admin-address: must be host:port, is "nowhere"`, "stowage-patience: must not be negative"}},
		{env: "STOWAGE_TOY_LOG_LEVEL=loud", code: 2, stderr: []string{"--log-level must be one of"}},
		{args: "--fail", code: 1, stderr: []string{"stowage-toy: error: failed as requested"}},
		{code: 0, stderr: []string{`"level":"INFO","msg":"ready"`, `"msg":"stopped"`}},
		{args: "--terminate --log-level=debug --log-format=text", code: 0, stderr: []string{"level=DEBUG msg=starting", "msg=stopped"}},
	} {
		t.Run(c.args+c.env, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			command := exec.CommandContext(ctx, "toy", strings.Fields(c.args)...)
			command.Env = append(os.Environ(), c.env)
			var stderr strings.Builder
			command.Stdout, command.Stderr = io.Discard, &stderr
			if err := command.Run(); command.ProcessState == nil {
				t.Fatal(err)
			}
			if got := command.ProcessState.ExitCode(); got != c.code {
				t.Errorf("exit code %d, want %d", got, c.code)
			}
			for _, text := range c.stderr {
				if !strings.Contains(stderr.String(), text) {
					t.Errorf("standard error lacks %q:\n%s", text, &stderr)
				}
			}
			if c.code == 0 && c.args == "" && strings.Contains(stderr.String(), "DEBUG") {
				t.Errorf("debug lines are logged:\n%s", &stderr)
			}
		})
	}
}
