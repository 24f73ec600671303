// Command demo starts a server and shows its decisions about the examples, over gRPC.
//
// The demo reads the manifests of each example, sends the requests, draws the responses, and checks them against case.yaml.
// The exit code is 1 if a response differs, 2 if the demo could not run.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/stowage-scheduler/stowage/clients/render/text"
	"github.com/stowage-scheduler/stowage/clients/scenarios"
	"github.com/stowage-scheduler/stowage/clients/stowage"
)

func main() {
	binary := flag.String("server", "bin/stowage-server", "server to start")
	examples := flag.String("examples", "clients/examples", "directory of the examples")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	held, err := run(ctx, *binary, *examples)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(2)
	case !held:
		os.Exit(1)
	}
}

// run shows every example, and reports whether all of them hold.
func run(ctx context.Context, binary, examples string) (held bool, err error) {
	cases, err := scenarios.Load(examples)
	if err != nil {
		return false, err
	}
	s, err := startServer(ctx, binary)
	if err != nil {
		return false, err
	}
	defer s.stop()
	client, err := stowage.Dial([]string{s.address})
	if err != nil {
		return false, err
	}
	defer client.Close()
	show := &show{w: os.Stdout, ink: text.Ink(isTerminal(os.Stdout))}
	good := 0
	for i := range cases {
		ok, err := show.scenario(ctx, &cases[i], scenarios.Client(client))
		if err != nil {
			return false, fmt.Errorf("%s: %w", cases[i].Name(), err)
		}
		if ok {
			good++
		}
	}
	show.summary(good, len(cases), s.address)
	return good == len(cases), nil
}
