// Command stowage answers scheduling questions about a cluster, live or in manifests.
package main

import (
	"context"
	"os"
	"os/signal"

	"github.com/stowage-scheduler/stowage/clients/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	code := cli.RunAs(ctx, os.Args[0], os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
