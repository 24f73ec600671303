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
func (s *serve) Run(ctx context.Context, app *kong.Kong) error {
	gctune.EnsureHeadroom(gctune.DefaultHeadroomBytes)
	log := s.Logger(os.Stderr)
	if unknown := config.UnknownVariables(app.Model, os.Environ()); len(unknown) > 0 {
		log.Warn("environment variables are of no setting", "variables", unknown)
	}
	srv, err := server.New(ctx, s.Config, log)
	if err != nil {
		return err
	}
	return srv.Run(ctx)
}
