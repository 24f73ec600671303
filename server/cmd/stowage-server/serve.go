package main

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/alecthomas/kong"
	"google.golang.org/grpc/grpclog"

	"github.com/stowage-scheduler/stowage/server"
	"github.com/stowage-scheduler/stowage/server/config"
	"github.com/stowage-scheduler/stowage/server/gctune"
	"github.com/stowage-scheduler/stowage/server/logwriter"
)

// serve is the serve command. kong validates its configuration.
type serve struct {
	File kong.ConfigFlag `name:"config" help:"Configuration file in YAML or JSON; keys are flag names." placeholder:"PATH"`
	config.Config
}

// Run runs the command.
func (s *serve) Run(ctx context.Context, app *kong.Kong) error {
	// From the container's limit, if any: the log line "serving" reports the resulting values.
	_, _ = memlimit.Set()
	gctune.EnsureHeadroom(gctune.DefaultHeadroomBytes)
	lines := logwriter.New(os.Stderr, s.Logger)
	defer lines.Close(time.Second)
	log := s.Logger(lines)
	if unknown := config.UnknownVariables(app.Model, os.Environ()); len(unknown) > 0 {
		log.Warn("environment variables are of no setting", "variables", unknown)
	}
	if os.Getenv("GRPC_GO_LOG_SEVERITY_LEVEL") == "" {
		// gRPC and grpc-gateway write texts beside the log, where a call is a line already.
		grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	}
	srv, err := server.New(ctx, s.Config, log)
	if err != nil {
		return err
	}
	if err := srv.WatchLog(lines.Dropped); err != nil {
		log.Warn("no metric of dropped log lines", "error", err)
	}
	return srv.Run(ctx)
}
