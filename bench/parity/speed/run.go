package speed

import (
	"fmt"
	"log"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/bench/loopback"
)

// Options say what to measure.
type Options struct {
	// Small measures what is there at a thousand nodes, in a minute.
	Small bool
	// Huge adds the cluster of 500,000 nodes.
	Huge bool
	// KubeNodes are the sizes at which kube-scheduler decides too.
	KubeNodes []int
	// Turns is how often each subject has its turn.
	Turns int
	// Only is part of the name of the one section to measure, empty for all. Most need "calls by address" before them.
	Only string
	// Command is the path of the stowage command, empty to leave it out.
	Command string
}

// Sizes. The promises are about the big cluster; kube-scheduler's are judged at its size.
const (
	bigNodes   = 5_000
	scaleNodes = 100_000
	smallNodes = 1_000
)

// run is a run under way.
type run struct {
	Options
	*Report

	address, echoAddress string

	stowage stowage
	echo    *loopback.Client
	cases   []*podCase
	big     *world
	trials  int
}

// Run measures.
func Run(o Options) (report *Report, err error) {
	r := &run{Options: o}
	if r.Report, err = newReport(); err != nil {
		return nil, err
	}
	r.Report.Small = o.Small
	// The promises are of two cores.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(min(2, runtime.NumCPU())))
	r.Machine = machine()
	if r.cases, err = readCases(); err != nil {
		return nil, err
	}
	for _, peer := range []struct {
		serve   func() (*loopback.Server, error)
		address *string
		client  **loopback.Client
	}{{loopback.ServeStowage, &r.address, &r.stowage.client}, {loopback.ServeEcho, &r.echoAddress, &r.echo}} {
		server, err := peer.serve()
		if err != nil {
			return nil, err
		}
		defer server.Stop()
		*peer.address = server.Address
		if *peer.client, err = loopback.Dial(server.Address); err != nil {
			return nil, err
		}
		defer (*peer.client).Close()
	}
	return r.Report, r.sections()
}

func (r *run) sections() error {
	nodes := bigNodes
	if r.Options.Small {
		nodes = smallNodes
	}
	// onBig is a section about the big cluster.
	onBig := func(do func() error) func() error {
		return func() (err error) {
			if r.big == nil {
				if r.big, err = r.world(nodes); err != nil {
					return err
				}
			}
			return do()
		}
	}
	type section struct {
		name string
		do   func() error
	}
	all := []section{
		{"memory bandwidth", r.bandwidth},
		{"cores", r.cores},
		{"wake", r.wake},
		{"memory of the compiled cluster", func() error { return r.memory(nodes) }},
		{"calls by address", onBig(r.calls)},
		{"nominated pods", onBig(func() error { return r.nominated(nodes) })},
		{"concurrent calls", onBig(r.throughput)},
		{"requests with their cluster, and streams", onBig(r.inline)},
		{"volumes", onBig(func() error { return r.volumes(nodes) })},
	}
	all = append(all, section{"queues", r.placing}, section{"simulation", r.simulation}, section{"affinity surge", r.surge}, section{"devices", r.devices})
	for _, n := range r.KubeNodes {
		all = append(all, section{fmt.Sprintf("kube-scheduler, %d nodes", n), onBig(func() error { return r.versus(n) })})
	}
	if slices.Contains(r.KubeNodes, nodes) {
		all = append(all, section{"preemption", func() error { return r.preemption(nodes) }})
	}
	if !r.Options.Small {
		for _, n := range clusterSizes {
			all = append(all, section{fmt.Sprintf("every way of stating %d nodes", n), onBig(func() error { return r.sizes(n) })})
		}
		all = append(all, section{fmt.Sprintf("%d nodes", scaleNodes), onBig(r.scale)})
	}
	if r.Huge {
		all = append(all, section{fmt.Sprintf("%d nodes", hugeNodes), r.huge})
	}
	// They put many snapshots, for which the server may drop the big cluster: they come after the sections about it.
	all = append(all,
		section{"queues of diverse pods", r.diverse}, section{"deltas", func() error { return r.watched(nodes) }}, section{"growth", r.growth},
		section{"command", r.command},
	)
	for _, s := range all {
		if !strings.Contains(s.name, r.Only) {
			continue
		}
		log.Print(s.name)
		if err := s.do(); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		runtime.GC()
	}
	return nil
}

// measurement is the usual way of taking turns.
func (r *run) measurement() measurement { return measurement{turns: r.Turns, collect: true} }

// trial is a number that was not given before.
func (r *run) trial() int {
	r.trials++
	return r.trials
}

func (r *run) find(name string) *podCase {
	for _, c := range r.cases {
		if c.Name == name {
			return c
		}
	}
	panic("cases.yaml has no case " + name)
}

var modelName = regexp.MustCompile(`(?m)^model name\s*: (.*)$`)

// machine says what the figures were measured on.
func machine() string {
	model := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if found := modelName.FindSubmatch(text); found != nil {
			model = strings.Join(strings.Fields(string(found[1])), " ")
		}
	}
	return fmt.Sprintf("%d cores of %s, %s", runtime.GOMAXPROCS(0), model, runtime.Version())
}
