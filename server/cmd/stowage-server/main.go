// Command stowage-server serves the PlacementService and the SimulationService of stowage.v1. It exits with 2 for invalid flags,
// variables or configuration files and with 1 for other errors.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/stowage-scheduler/stowage/server/config"
	"github.com/stowage-scheduler/stowage/server/version"
)

type commandLine struct {
	Version     kong.VersionFlag `env:"-" help:"Print the version."`
	Serve       serve            `cmd:"" default:"withargs" help:"Serve until SIGTERM or SIGINT (default)."`
	Healthcheck healthcheck      `cmd:"" help:"Exit with 0 if a server on this machine is ready, for container probes."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	context.AfterFunc(ctx, stop)  // a second signal kills the process
	signal.Ignore(syscall.SIGHUP) // files are reloaded when they change
	options := append(config.Options(),
		kong.Name("stowage-server"),
		kong.Description("Scheduling decisions as a service."),
		kong.Vars{"version": version.Current()},
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	parser := kong.Must(&commandLine{}, options...)
	command, err := parser.Parse(os.Args[1:])
	if err != nil {
		parser.FatalIfErrorf(usageError{err})
	}
	command.FatalIfErrorf(command.Run())
}

// usageError is an invalid flag, variable or file. kong's own exit code varies with the stage of parsing.
type usageError struct{ error }

// ExitCode implements kong.ExitCoder.
func (usageError) ExitCode() int { return 2 }
