// Command request writes the binary request that the load test sends: a Filter of one pod over the cluster of
// bench/bigcluster, stated inline. The same arguments give the same bytes.
package main

import (
	"flag"
	"fmt"
	"os"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func main() {
	nodes := flag.Int("nodes", 5000, "nodes of the cluster, with 30 pods each")
	// The default template has both a spread constraint and anti-affinity.
	template := flag.Uint("template", 9, "index of the template of the pod to filter nodes for")
	out := flag.String("out", "", "file to write")
	flag.Parse()
	if err := write(*out, *nodes, *template); err != nil {
		fmt.Fprintln(os.Stderr, "request:", err)
		os.Exit(1)
	}
}

func write(out string, nodes int, template uint) error {
	if nodes < 1 || template >= bigcluster.Templates {
		return fmt.Errorf("want at least 1 node and a template below %d", bigcluster.Templates)
	}
	// Maps in the order of their keys: ghz parses the request and writes its own anyway, but a file that never changes
	// can be compared.
	wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(&stowagev1.FilterRequest{
		Cluster: bigcluster.New(nodes),
		Pod:     &stowagev1.Pod{Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: uint32(template)}},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(out, wire, 0o644)
}
