package report

import (
	"fmt"
	"slices"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// together are pods of one controller with one answer.
type together struct {
	pods []*stowagev1.PodReference
	text string // what is said
}

// gather puts pods of one controller together if the same is said of them, in the order of the first ones.
func (x *Explanation) gather(all []together) []together {
	var out []together
	index := map[[2]string]int{}
	for _, one := range all {
		key := [2]string{x.reference(one.pods[0]), one.text}
		if i, ok := index[key]; ok {
			out[i].pods = append(out[i].pods, one.pods...)
			continue
		}
		index[key] = len(out)
		out = append(out, one)
	}
	return out
}

// one is what is said of a pod.
func one(p *stowagev1.PodReference, text string) together {
	return together{[]*stowagev1.PodReference{p}, text}
}

// who names the pods: one by its name, several by their controller and number.
func (t *together) who(x *Explanation) string {
	if len(t.pods) == 1 {
		return x.pod(t.pods[0])
	}
	n := 0
	for _, p := range t.pods {
		n += int(p.GetCount())
	}
	return fmt.Sprintf("%s ×%d", x.reference(t.pods[0]), n)
}

// nodes names the nodes on which the pods are.
func (t *together) nodes(x *Explanation) []string {
	var out []string
	for _, p := range t.pods {
		if name := x.node(p.GetNodeIndex()); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// lines writes the pods, their nodes and what is said of them.
func (x *Explanation) lines(all []together) []string {
	var out []string
	for _, t := range x.gather(all) {
		out = append(out, t.who(x)+" on "+Names(t.nodes(x))+t.text)
	}
	return out
}
