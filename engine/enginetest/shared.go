package enginetest

import (
	"fmt"
	"math/rand/v2"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// RandomShared returns a cluster like Random's in which nodes have classes and pods have every form: of a template,
// counted or named, with and without own labels and status, and in full.
func RandomShared(rng *rand.Rand) (*api.Cluster, []api.Pod) {
	c, pods := Random(rng)
	for range 2 + rng.IntN(4) {
		c.Templates = append(c.Templates, RandomTemplate(rng))
	}
	for range 1 + rng.IntN(3) {
		c.Classes = append(c.Classes, RandomClass(rng))
	}
	for i := range c.Nodes {
		c.Nodes[i] = RandomSharedNode(rng, c, c.Nodes[i].Name)
	}
	for i := range pods {
		if rng.IntN(2) == 0 {
			pods[i].Template.Spec.Containers[0].Requests = Resources("cpu", 100, "example.com/gpu", 1)
		}
	}
	return c, pods
}

// RandomTemplate returns a template for RandomSharedNode.
func RandomTemplate(rng *rand.Rand) *api.PodTemplate {
	p := randomPod(rng, "")
	if rng.IntN(3) == 0 {
		p.Request("cpu", 100*rng.IntN(4), "example.com/gpu", 1)
	}
	return p.Template
}

// RandomClass returns a class for RandomSharedNode.
func RandomClass(rng *rand.Rand) *api.NodeClass {
	n := randomNode(rng, "")
	class := &api.NodeClass{NodeSpec: n.NodeSpec}
	if rng.IntN(2) == 0 {
		class.Allocatable = Resources("cpu", 2000, "memory", 4<<30, "pods", 8, "example.com/gpu", 2)
	}
	if rng.IntN(3) > 0 {
		class.NameLabelKeys = []string{"kubernetes.io/hostname", "example.com/name"}
	}
	return class
}

// RandomSharedNode returns a node of the classes of a cluster, with pods of its templates and others.
func RandomSharedNode(rng *rand.Rand, c *api.Cluster, name string) api.Node {
	n := randomNode(rng, name).Node
	if rng.IntN(4) > 0 {
		n.Class = pick(rng, c.Classes...)
		if rng.IntN(2) == 0 {
			n.Allocatable = Resources("cpu", 1500)
		}
		if rng.IntN(3) > 0 {
			n.Labels = nil
		}
		if rng.IntN(4) == 0 {
			n.Labels = n.Labels.With(api.Labels{{Key: "example.com/name", Value: "own"}})
		}
	}
	if rng.IntN(4) == 0 {
		n.Images = append(n.Images, api.Image{Names: []string{"app:v1", "app:other"}, SizeBytes: int64(rng.IntN(900)) << 20})
	}
	for range rng.IntN(4) {
		n.PodCounts = append(n.PodCounts, api.PodCount{
			Template: rng.IntN(len(c.Templates)), Count: 1 + rng.Int32N(2), Terminating: rng.IntN(8) == 0,
		})
	}
	nominated := rng.IntN(4) * rng.IntN(4) / 6 // rarely any
	for i := range rng.IntN(4) + nominated {
		index := rng.IntN(len(c.Templates))
		p := api.Pod{Name: fmt.Sprint(name, "-", i), Template: c.Templates[index], TemplateIndex: index}
		if rng.IntN(4) == 0 {
			p.TemplateIndex = -1
		}
		if rng.IntN(3) == 0 {
			p.Labels = api.Labels{{Key: "app", Value: pick(rng, "web", "db", "cache", name)}}
		}
		if rng.IntN(6) == 0 {
			p.ResourceStatus = &api.PodResourceStatus{Containers: []api.ContainerResourceStatus{
				{Name: "main", Allocated: Resources("cpu", 300), Actuated: Resources("cpu", 200)},
			}}
		}
		p.Terminating = rng.IntN(8) == 0
		if len(n.Nominated) < nominated {
			n.Nominated = append(n.Nominated, p)
		} else {
			n.Pods = append(n.Pods, p)
		}
	}
	rng.Shuffle(len(n.Pods), func(i, j int) { n.Pods[i], n.Pods[j] = n.Pods[j], n.Pods[i] })
	return n
}
