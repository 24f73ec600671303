package main

import (
	"context"
	"os"

	_ "github.com/KimMachineGun/automemlimit" // makes the garbage collector heed the container's memory limit
	"github.com/alecthomas/kong"

	"github.com/stowage-scheduler/stowage/server"
	"github.com/stowage-scheduler/stowage/server/config"
	"github.com/stowage-scheduler/stowage/server/garbage"
)

// serve is the command that serves. Its configuration is validated by kong.
type serve struct {
	File kong.ConfigFlag `name:"config" help:"File with more settings, YAML or JSON; keys are the names of flags." placeholder:"PATH"`
	config.Config
}

// Run runs the command.
func (s *serve) Run(ctx context.Context) error {
	garbage.LeaveRoom(garbage.Room)
	srv, err := server.New(ctx, s.Config, s.Logger(os.Stderr))
	if err != nil {
		return err
	}
	return srv.Run(ctx)
}
