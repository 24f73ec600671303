// Command stowage-server serves stowage.v1.PlacementService.
package main

import (
	"context"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/stowage-scheduler/stowage/server"
	"github.com/stowage-scheduler/stowage/server/config"
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
		kong.Vars{"version": server.Version()},
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	command := kong.Parse(&commandLine{}, options...)
	command.FatalIfErrorf(command.Run())
}
