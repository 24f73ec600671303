package main

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// twoZones are a large and a small node in each of two zones.
func twoZones() (nodes []*corev1.Node) {
	for i, name := range []string{"a-large", "a-small", "b-large", "b-small"} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelTopologyZone: name[:1],
		}}}
		n.Status.Allocatable = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse([]string{"4", "1"}[i%2]), corev1.ResourceMemory: resource.MustParse("8Gi"),
			corev1.ResourcePods: resource.MustParse("2"),
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func podOf(cpu string, change func(p *corev1.Pod, labels map[string]string)) *corev1.Pod {
	labels := map[string]string{"app": "web"}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
	}}}}
	if change != nil {
		change(p, labels)
	}
	return p
}

func TestReplay(t *testing.T) {
	by := func(rule func(*corev1.Pod, string, map[string]string), key string) func(*corev1.Pod, map[string]string) {
		return func(p *corev1.Pod, labels map[string]string) { rule(p, key, labels) }
	}
	plain := podOf("1", nil)
	alone, even := podOf("1", by(apart, corev1.LabelHostname)), podOf("1", by(spread, corev1.LabelTopologyZone))
	near := podOf("1", by(together, corev1.LabelTopologyZone))
	for name, test := range map[string]struct {
		pods []*corev1.Pod
		at   []int
		ok   bool
	}{
		"room":                   {[]*corev1.Pod{plain, plain}, []int{0, 0}, true},
		"no room":                {[]*corev1.Pod{plain, plain}, []int{1, 1}, false},
		"too many pods":          {[]*corev1.Pod{plain, plain, plain}, []int{0, 0, 0}, false},
		"no node":                {[]*corev1.Pod{plain}, []int{-1}, false},
		"a pod is missing":       {[]*corev1.Pod{plain, plain}, []int{0}, false},
		"apart":                  {[]*corev1.Pod{alone, alone}, []int{0, 1}, true},
		"not apart":              {[]*corev1.Pod{alone, alone}, []int{0, 0}, false},
		"not apart from a plain": {[]*corev1.Pod{plain, alone}, []int{0, 0}, false},
		"repelled":               {[]*corev1.Pod{alone, plain}, []int{0, 0}, false},
		"even":                   {[]*corev1.Pod{even, even}, []int{0, 2}, true},
		"uneven":                 {[]*corev1.Pod{even, even}, []int{0, 1}, false},
		"together":               {[]*corev1.Pod{near, near}, []int{0, 1}, true},
		"not together":           {[]*corev1.Pod{near, near}, []int{0, 2}, false},
	} {
		if err := replay(twoZones(), test.pods, test.at); (err == nil) != test.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBooks(t *testing.T) {
	c := &clusterOf{index: map[string]int{}, templates: map[string]*corev1.Pod{}}
	for i := range 6 {
		n := twoZones()[i%4]
		n.Name = string(rune('a' + i))
		n.Labels = map[string]string{corev1.LabelHostname: n.Name, corev1.LabelTopologyZone: string(rune('x' + i%3))}
		n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("20")
		c.nodes, c.index[n.Name] = append(c.nodes, n), i
	}
	add := func(app string, node int, change func(*corev1.Pod, map[string]string)) {
		p := podOf("500m", change)
		p.Labels = map[string]string{"app": app}
		p.Spec.NodeName = c.nodes[node].Name
		c.pods, c.templates[app] = append(c.pods, p), p
	}
	lonely := func(p *corev1.Pod, l map[string]string) { apart(p, corev1.LabelHostname, l) }
	social := func(p *corev1.Pod, l map[string]string) { together(p, corev1.LabelTopologyZone, l) }
	add("alone", 0, lonely)
	add("alone", 2, lonely)
	add("near", 0, social)
	add("near", 3, social) // the zone of node 0
	for range 2 {
		add("plain", 1, nil) // which is full with it
	}
	b := newBooks(c)
	for name, test := range map[string]struct {
		moves []move
		ok    bool
	}{
		"right":           {[]move{{"alone", 4}, {"near", 3}}, true},
		"one is missing":  {[]move{{"alone", 4}}, false},
		"stays":           {[]move{{"alone", 0}, {"near", 3}}, false},
		"two on one node": {[]move{{"alone", 2}, {"near", 3}}, false},
		"no room":         {[]move{{"alone", 1}, {"near", 3}}, false},
		"alone in a zone": {[]move{{"alone", 4}, {"near", 4}}, false},
	} {
		for range 2 { // the books are as before
			if err := b.check(0, test.moves); (err == nil) != test.ok {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
