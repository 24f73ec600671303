package words

import (
	"fmt"
	"slices"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Together are pods of one controller with one answer.
type Together struct {
	pods []*stowagev1.PodReference
	Text string // what is said
}

// Gather puts pods of one controller together if the same is said of them, in the order of the first ones.
func (x *Explanation) Gather(all []Together) []Together {
	var out []Together
	index := map[[2]string]int{}
	for _, one := range all {
		key := [2]string{x.Reference(one.pods[0]), one.Text}
		if i, ok := index[key]; ok {
			out[i].pods = append(out[i].pods, one.pods...)
			continue
		}
		index[key] = len(out)
		out = append(out, one)
	}
	return out
}

// One is what is said of a pod.
func One(p *stowagev1.PodReference, text string) Together {
	return Together{[]*stowagev1.PodReference{p}, text}
}

// Who names the pods: one by its name, several by their controller and number.
func (t *Together) Who(x *Explanation) string {
	if len(t.pods) == 1 {
		return x.Pod(t.pods[0])
	}
	n := 0
	for _, p := range t.pods {
		n += int(p.GetCount())
	}
	return fmt.Sprintf("%s ×%d", x.Reference(t.pods[0]), n)
}

// nodes names the nodes on which the pods are.
func (t *Together) nodes(x *Explanation) []string {
	var out []string
	for _, p := range t.pods {
		if name := x.Node(p.GetNodeIndex()); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// Lines writes the pods, their nodes and what is said of them.
func (x *Explanation) Lines(all []Together) []string {
	var out []string
	for _, t := range x.Gather(all) {
		out = append(out, t.Who(x)+" on "+Names(t.nodes(x))+t.Text)
	}
	return out
}
