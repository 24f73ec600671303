// Command write writes a cluster as kubectl prints it to standard output:
//
//	go run ./bench/kubectldump/write --nodes 5000 > /tmp/cluster.json
package main

import (
	"fmt"
	"os"

	"github.com/alecthomas/kong"

	"github.com/stowage-scheduler/stowage/bench/kubectldump"
)

func main() {
	var flags struct {
		Nodes         int  `default:"500" help:"The number of nodes."`
		PodsPerNode   int  `default:"30" help:"The number of pods on each node."`
		YAML          bool `name:"yaml" help:"Write YAML instead of JSON."`
		ManagedFields bool `help:"With managed fields."`
	}
	kong.Parse(&flags)
	o := kubectldump.Options{Nodes: flags.Nodes, PodsPerNode: flags.PodsPerNode, YAML: flags.YAML, ManagedFields: flags.ManagedFields}
	if _, err := kubectldump.Write(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
