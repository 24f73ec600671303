package explain_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/explain"
	"github.com/stowage-scheduler/stowage/clients/answer/input"
	"github.com/stowage-scheduler/stowage/clients/embedded"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/manifest"
)

const example = "../../examples/01-required-zone-anti-affinity/"

// A program explains why a pod is pending, with the remedies that were tried, as `stowage explain deploy/redash -o json` does.
func ExampleAsk() {
	if err := explainRedash(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// false alone each would have a node; after the other pending pods 1 of 4 have none: 0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules. preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.
	// - anti-affinity by topology.kubernetes.io/zone preferred instead of required in all pods of Deployment redash; then all 4 have a node
	// - 3 replicas of Deployment redash instead of 4
}

func explainRedash(ctx context.Context) error {
	client, stop, err := embedded.Dial(ctx) // or stowage.Dial, for a server elsewhere
	if err != nil {
		return err
	}
	defer func() { _ = stop() }()
	r := manifest.NewReader(kube.Options{})
	if err := errors.Join(r.ReadPath(example+"nodes.yaml", os.Stdin), r.ReadPath(example+"redash.yaml", os.Stdin)); err != nil {
		return err
	}
	q, err := (&input.Input{}).Question(client, r)
	if err != nil {
		return err
	}
	a, err := explain.Ask(ctx, q, explain.Options{Targets: []string{"deploy/redash"}})
	if err != nil {
		return err
	}
	pod := a.Pods[0]
	fmt.Println(pod.Status == answer.Yes, pod.Verdict())
	for _, advice := range pod.Advice {
		fmt.Println("-", advice.Text)
	}
	return nil
}
