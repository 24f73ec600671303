package audit

import (
	"fmt"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/review"
)

// group is equal findings about pods of one workload.
type group struct {
	workload kube.Origin
	why      string // the first reason
	pods     int
	nodes    map[int]bool
}

// groups gathers findings by workload and kind, in order of appearance.
type groups struct {
	all   []*group
	index map[groupKey]*group
}

type groupKey struct {
	workload kube.Origin
	kind     string
}

func (g *groups) add(key groupKey, why string, pods, node int) {
	if g.index == nil {
		g.index = map[groupKey]*group{}
	}
	of := g.index[key]
	if of == nil {
		of = &group{workload: key.workload, why: why, nodes: map[int]bool{}}
		g.index[key] = of
		g.all = append(g.all, of)
	}
	of.pods += pods
	of.nodes[node] = true
}

// report adds a finding for each group; message receives the number of pods, the nodes and the first reason.
func (a *audit) report(g *groups, s review.Severity, rule review.Rule, message func(pods, nodes, why string) string) {
	for _, of := range g.all {
		nodes := a.nodeNames(of.nodes)
		a.found = append(a.found, review.Finding{
			Severity: s, Rule: rule, Object: review.Object(of.workload), Pods: of.pods, Nodes: nodes,
			Message: message(words.Plural(of.pods, "pod"), words.Names(nodes), of.why),
		})
	}
}

// plainly returns a message that formats its parts.
func plainly(format string) func(pods, nodes, why string) string {
	return func(pods, nodes, why string) string { return fmt.Sprintf(format, pods, nodes, why) }
}
