package main

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// load is what pods request of a node.
type load struct{ cpu, memory, pods int64 }

func (l *load) add(p *corev1.Pod)    { l.change(p, 1) }
func (l *load) remove(p *corev1.Pod) { l.change(p, -1) }

func (l *load) change(p *corev1.Pod, by int64) {
	r := p.Spec.Containers[0].Resources.Requests
	l.cpu += by * r.Cpu().MilliValue()
	l.memory += by * r.Memory().Value()
	l.pods += by
}

func (l *load) within(a corev1.ResourceList) bool {
	return l.cpu <= a.Cpu().MilliValue() && l.memory <= a.Memory().Value() && l.pods <= a.Pods().Value()
}

// replay places pods in their order on the nodes that were chosen, and checks the rules that the pods here have: requests, hard
// spread, and required affinity and anti-affinity, each by one label and by zone or hostname. Every pod must have a node.
func replay(nodes []*corev1.Node, pods []*corev1.Pod, at []int) error {
	if len(at) != len(pods) {
		return fmt.Errorf("%d of %d pods have a node", len(at), len(pods))
	}
	loads := make([]load, len(nodes))
	counts := map[counted]map[string]int{} // by domain
	domains := map[string]map[string]bool{}
	for _, n := range nodes {
		for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone} {
			if domains[key] == nil {
				domains[key] = map[string]bool{}
			}
			domains[key][n.Labels[key]] = true
		}
	}
	of := func(key string, s map[string]string) map[string]int {
		for label, value := range s {
			c := counted{key, label, value}
			if counts[c] == nil {
				counts[c] = map[string]int{}
			}
			return counts[c]
		}
		return nil
	}
	repelled := map[counted]map[string]bool{} // domains with a pod that repels those with a label
	for i, p := range pods {
		if at[i] < 0 || at[i] >= len(nodes) {
			return fmt.Errorf("%s has no node", p.Name)
		}
		n := nodes[at[i]]
		if loads[at[i]].add(p); !loads[at[i]].within(n.Status.Allocatable) {
			return fmt.Errorf("%s does not fit on %s", p.Name, n.Name)
		}
		for _, s := range p.Spec.TopologySpreadConstraints {
			with := of(s.TopologyKey, s.LabelSelector.MatchLabels)
			least := len(pods)
			for domain := range domains[s.TopologyKey] {
				if least = min(least, with[domain]); least == 0 {
					break
				}
			}
			if skew := with[n.Labels[s.TopologyKey]] + self(p, s.LabelSelector.MatchLabels) - least; skew > int(s.MaxSkew) {
				return fmt.Errorf("%s has a skew of %d on %s", p.Name, skew, n.Name)
			}
		}
		for label, value := range p.Labels {
			for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone} {
				if repelled[counted{key, label, value}][n.Labels[key]] {
					return fmt.Errorf("%s is repelled on %s", p.Name, n.Name)
				}
			}
		}
		if err := neighbours(p, n, of, repelled); err != nil {
			return err
		}
		for label, value := range p.Labels {
			for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone} {
				of(key, map[string]string{label: value})[n.Labels[key]]++
			}
		}
	}
	return nil
}

// counted is pods with a label, by the domains of a key.
type counted struct{ key, label, value string }

// self is 1 for a pod with the labels.
func self(p *corev1.Pod, labels map[string]string) int {
	for label, value := range labels {
		if p.Labels[label] != value {
			return 0
		}
	}
	return 1
}

// neighbours checks affinity and anti-affinity of a pod, and notes what it repels.
func neighbours(
	p *corev1.Pod, n *corev1.Node, of func(string, map[string]string) map[string]int, repelled map[counted]map[string]bool,
) error {
	a := p.Spec.Affinity
	if a == nil {
		return nil
	}
	if a.PodAffinity != nil {
		for _, t := range a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			with := of(t.TopologyKey, t.LabelSelector.MatchLabels)
			first := len(with) == 0 && self(p, t.LabelSelector.MatchLabels) == 1
			if with[n.Labels[t.TopologyKey]] == 0 && !first {
				return fmt.Errorf("%s has no neighbour on %s", p.Name, n.Name)
			}
		}
	}
	if a.PodAntiAffinity != nil {
		for _, t := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			if of(t.TopologyKey, t.LabelSelector.MatchLabels)[n.Labels[t.TopologyKey]] > 0 {
				return fmt.Errorf("%s is not apart on %s", p.Name, n.Name)
			}
			for label, value := range t.LabelSelector.MatchLabels {
				c := counted{t.TopologyKey, label, value}
				if repelled[c] == nil {
					repelled[c] = map[string]bool{}
				}
				repelled[c][n.Labels[t.TopologyKey]] = true
			}
		}
	}
	return nil
}

// move is a pod of a workload that goes to a node.
type move struct {
	app string
	to  int
}

// books are the pods of a cluster, counted.
type books struct {
	*clusterOf
	loads []load
	on    []map[string]int          // by node and workload
	zones map[string]map[string]int // by workload and zone
}

func newBooks(c *clusterOf) *books {
	b := &books{clusterOf: c, zones: map[string]map[string]int{}, loads: make([]load, len(c.nodes))}
	for range c.nodes {
		b.on = append(b.on, map[string]int{})
	}
	for app := range c.templates {
		b.zones[app] = map[string]int{}
	}
	for _, p := range c.pods {
		b.count(p.Labels["app"], c.index[p.Spec.NodeName], 1)
	}
	return b
}

func (b *books) count(app string, node, by int) {
	b.loads[node].change(b.templates[app], int64(by))
	b.on[node][app] += by
	b.zones[app][b.zone(node)] += by
}

func (b *books) zone(node int) string { return b.nodes[node].Labels[corev1.LabelTopologyZone] }

// check checks that all pods of a node can be where they go, once all are there: that is no weaker for the rules of this cluster,
// whose selectors are of the pods themselves.
func (b *books) check(node int, moves []move) error {
	left := map[string]int{}
	for app, n := range b.on[node] {
		left[app] = n
	}
	for _, m := range moves {
		left[m.app]--
		if m.to == node {
			return errors.New("a pod stays")
		}
	}
	for app, n := range left {
		if n != 0 {
			return fmt.Errorf("of %s, %d pods have no node", app, n)
		}
	}
	for _, m := range moves {
		b.count(m.app, node, -1)
		b.count(m.app, m.to, 1)
	}
	defer func() {
		for _, m := range moves {
			b.count(m.app, m.to, -1)
			b.count(m.app, node, 1)
		}
	}()
	for _, m := range moves {
		if !b.loads[m.to].within(b.nodes[m.to].Status.Allocatable) {
			return fmt.Errorf("node %d is too full", m.to)
		}
		spec, in := &b.templates[m.app].Spec, b.zones[m.app]
		if a := spec.Affinity; a != nil && a.PodAntiAffinity != nil && b.on[m.to][m.app] > 1 {
			return fmt.Errorf("two pods of %s are on node %d", m.app, m.to)
		}
		others := -1
		for _, n := range in {
			others += n
		}
		if a := spec.Affinity; a != nil && a.PodAffinity != nil && in[b.zone(m.to)] < 2 && others > 0 {
			return fmt.Errorf("a pod of %s is alone in %s", m.app, b.zone(m.to))
		}
		if len(spec.TopologySpreadConstraints) > 0 {
			least := in[b.zone(0)]
			for n := range min(3, len(b.nodes)) { // the zones take turns
				least = min(least, in[b.zone(n)])
			}
			if in[b.zone(m.to)]-least > looseSkew {
				return fmt.Errorf("%s has a skew of %d in %s", m.app, in[b.zone(m.to)]-least, b.zone(m.to))
			}
		}
	}
	return nil
}
