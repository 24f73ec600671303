package main

import (
	"context"
	"os"

	_ "github.com/KimMachineGun/automemlimit" // sets GOMEMLIMIT from the container's memory limit
	"github.com/alecthomas/kong"

	"github.com/stowage-scheduler/stowage/server"
	"github.com/stowage-scheduler/stowage/server/config"
	"github.com/stowage-scheduler/stowage/server/gctune"
)

// serve is the serve command. kong validates its configuration.
type serve struct {
	File kong.ConfigFlag `name:"config" help:"Configuration file in YAML or JSON; keys are flag names." placeholder:"PATH"`
	config.Config
}

// Run runs the command.
func (s *serve) Run(ctx context.Context) error {
	gctune.EnsureHeadroom(gctune.DefaultHeadroomBytes)
	srv, err := server.New(ctx, s.Config, s.Logger(os.Stderr))
	if err != nil {
		return err
	}
	return srv.Run(ctx)
}
