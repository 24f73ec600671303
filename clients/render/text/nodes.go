package text

import (
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/fill"
)

// nodes writes how full the nodes are.
func (p *placement) nodes(w io.Writer) {
	before, after, err := p.Fill()
	if err != nil || len(after.All) == 0 {
		return // an answer is about a cluster that the server has read
	}
	rows := [][]string{{"NODE", "CPU", "MEMORY", "PODS", "BEFORE", "DEVICES"}}
	for i, n := range p.Snapshot.Cluster.GetNodes() {
		pods := before.All[i].Requested[corev1.ResourcePods]
		rows = append(rows, []string{
			n.GetName(), Share(&after.All[i], corev1.ResourceCPU), Share(&after.All[i], corev1.ResourceMemory),
			Share(&after.All[i], corev1.ResourcePods), pods.String(), Devices(&after.All[i]),
		})
	}
	if !slices.ContainsFunc(rows[1:], func(row []string) bool { return row[5] != "" }) {
		for i := range rows {
			rows[i] = rows[i][:5]
		}
	}
	fmt.Fprintln(w)
	tableWithin(w, p.Width, rows...)
}

// Devices says how many devices of a node are requested: of its extended resources, and of the drivers of its ResourceSlices.
func Devices(n *fill.Node) string {
	var out []string
	for _, name := range Resources(n) {
		if isExtended(name) {
			out = append(out, strings.TrimPrefix(string(name), fill.DevicesPrefix)+" "+Share(n, name))
		}
	}
	return strings.Join(out, ", ")
}

// Share says how much of a resource of a node is requested.
func Share(n *fill.Node, name corev1.ResourceName) string {
	has, requested := n.Allocatable[name], n.Requested[name]
	percent, ok := n.Percent(name)
	if !ok {
		return words.Brief(requested) + " of none"
	}
	return fmt.Sprintf("%s of %s (%d%%)", words.Brief(requested), words.Brief(has), percent)
}
