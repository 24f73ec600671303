// Command stowage-batch schedules pods in batches, by Stowage's decisions. It exits with 2 for settings that are wrong,
// with 1 for whatever else goes wrong.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	_ "github.com/KimMachineGun/automemlimit" // makes the garbage collector heed the container's memory limit
	"github.com/alecthomas/kong"

	"github.com/stowage-scheduler/stowage/clients/batch"
	"github.com/stowage-scheduler/stowage/server/telemetry"
)

type commandLine struct {
	Version kong.VersionFlag `env:"-" help:"Print the version."`
	batch.Config
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	var c commandLine
	parser := kong.Must(&c, kong.Name("stowage-batch"), kong.DefaultEnvars("STOWAGE_BATCH"),
		kong.Description("Schedules pods in batches, by Stowage's decisions."),
		kong.Vars{"version": telemetry.Version()})
	if _, err := parser.Parse(os.Args[1:]); err != nil {
		parser.FatalIfErrorf(badSettings{err})
	}
	parser.FatalIfErrorf(batch.Run(ctx, &c.Config, c.Logger(os.Stderr)))
}

// badSettings are flags and variables that are wrong. kong's own exit code depends on how far it read them.
type badSettings struct{ error }

// ExitCode implements kong.ExitCoder.
func (badSettings) ExitCode() int { return 2 }
