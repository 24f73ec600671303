// Command stowage-server serves stowage.v1.PlacementService. It exits with 2 for settings that are wrong, with 1 for
// whatever else goes wrong.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/stowage-scheduler/stowage/server/config"
	"github.com/stowage-scheduler/stowage/server/telemetry"
)

type commandLine struct {
	Version     kong.VersionFlag `env:"-" help:"Print the version."`
	Serve       serve            `cmd:"" default:"withargs" help:"Serve until told to stop by SIGTERM or SIGINT (the default)."`
	Healthcheck healthcheck      `cmd:"" help:"Exit with 0 if a server on this machine is ready, for container probes."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	options := append(config.Options(),
		kong.Name("stowage-server"),
		kong.Description("Scheduling decisions as a service."),
		kong.Vars{"version": telemetry.Version()},
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	parser := kong.Must(&commandLine{}, options...)
	command, err := parser.Parse(os.Args[1:])
	if err != nil {
		parser.FatalIfErrorf(badSettings{err})
	}
	command.FatalIfErrorf(command.Run())
}

// badSettings are flags, variables and files that are wrong. kong's own exit code depends on how far it read them.
type badSettings struct{ error }

// ExitCode implements kong.ExitCoder.
func (badSettings) ExitCode() int { return 2 }
