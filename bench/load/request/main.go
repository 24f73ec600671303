// Command request writes the binary request that the load test sends: a Filter of one pod on the cluster of
// bench/bigcluster. The cluster goes with the request, or is put to a server and named in the request by its address. The
// same arguments give the same bytes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func main() {
	nodes := flag.Int("nodes", 5000, "nodes of the cluster, with 30 pods each")
	// The default template has both a spread constraint and anti-affinity.
	template := flag.Uint("template", 9, "index of the template of the pod to filter nodes for")
	put := flag.String("put", "", "address of a server to put the cluster to; the request then names it")
	out := flag.String("out", "", "file to write")
	flag.Parse()
	if err := write(*out, *nodes, *template, *put); err != nil {
		fmt.Fprintln(os.Stderr, "request:", err)
		os.Exit(1)
	}
}

func write(out string, nodes int, template uint, server string) error {
	if nodes < 1 || template >= bigcluster.Templates {
		return fmt.Errorf("want at least 1 node and a template below %d", bigcluster.Templates)
	}
	cluster := bigcluster.Compact(bigcluster.New(nodes))
	request := &stowagev1.FilterRequest{
		Context: &stowagev1.DecisionContext{},
		Pod:     &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: bigcluster.Template(int(template))}},
	}
	if server == "" {
		request.Context.Base = &stowagev1.DecisionContext_Cluster{Cluster: cluster}
	} else {
		address, err := put(cluster, server)
		if err != nil {
			return err
		}
		request.Context.Base = &stowagev1.DecisionContext_Snapshot{Snapshot: &stowagev1.SnapshotReference{Address: address}}
	}
	// Maps in the order of their keys: ghz parses the request and writes its own anyway, but a file that never changes
	// can be compared.
	wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		return err
	}
	return os.WriteFile(out, wire, 0o644)
}

func put(cluster *stowagev1.Cluster, server string) (address string, err error) {
	client, err := stowage.Dial([]string{server})
	if err != nil {
		return "", err
	}
	defer client.Close()
	snapshot, err := stowage.NewSnapshot(cluster)
	if err != nil {
		return "", err
	}
	return snapshot.Address(), client.Put(context.Background(), snapshot)
}
