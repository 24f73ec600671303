package process

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/alecthomas/kong"

	"github.com/stowage-scheduler/stowage/server/logwriter"
	"github.com/stowage-scheduler/stowage/server/version"
)

// Command is a struct of flags that embeds Settings.
type Command interface {
	// Run runs the command with a valid configuration until the context ends.
	Run(ctx context.Context, log *slog.Logger) error
	// Logger is implemented by Settings.
	Logger(w io.Writer) *slog.Logger
}

// Main runs a command and ends the process. The exit code is 0 on success, 2 if a flag or variable is invalid, and 1 after any other
// error. Flags have environment variables: --log-level of stowage-batch is STOWAGE_BATCH_LOG_LEVEL. A second signal ends the process
// immediately; SIGHUP does nothing.
func Main(name, description string, c Command) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	context.AfterFunc(ctx, stop)
	signal.Ignore(syscall.SIGHUP) // files are reloaded when they change
	// Without a cgroup there is no limit to set, which is no error here.
	_, _ = memlimit.Set()
	parser := kong.Must(c, kong.Name(name), kong.Description(description),
		kong.DefaultEnvars(strings.ToUpper(strings.ReplaceAll(name, "-", "_"))),
		kong.Vars{"version": version.Current()})
	if _, err := parser.Parse(os.Args[1:]); err != nil {
		parser.FatalIfErrorf(invalidSettings{err})
	}
	lines := logwriter.New(os.Stderr, c.Logger)
	err := c.Run(ctx, c.Logger(lines))
	lines.Close(time.Second)
	parser.FatalIfErrorf(err)
}

// invalidSettings gives all parse errors the same exit code; kong's depends on the phase of parsing.
type invalidSettings struct{ error }

// ExitCode implements kong.ExitCoder.
func (invalidSettings) ExitCode() int { return 2 }
