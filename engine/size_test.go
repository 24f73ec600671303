package engine_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
)

// TestBytes compares the estimate of a cluster's memory with the growth of the heap.
func TestBytes(t *testing.T) {
	for name, stated := range map[string]func() *api.Cluster{
		"classes":    func() *api.Cluster { return bigCluster(2000, true) },
		"no classes": func() *api.Cluster { return bigCluster(2000, false) },
		"named pods": func() *api.Cluster {
			c := bigCluster(1000, true)
			for i := range c.Nodes {
				n := &c.Nodes[i]
				for _, p := range n.PodCounts {
					n.Pods = append(n.Pods, api.Pod{
						Name:     fmt.Sprintf("app-%03d-5d4f8c7b9-%s", p.Template, n.Name),
						Template: c.Templates[p.Template], TemplateIndex: p.Template,
						Labels: api.Labels{{Key: "pod-index", Value: fmt.Sprint(i % 50)}},
					})
				}
				n.PodCounts = nil
			}
			return c
		},
		"nominated pods": func() *api.Cluster {
			c := bigCluster(1000, true)
			for i := range c.Nodes {
				n := &c.Nodes[i]
				for _, p := range n.PodCounts {
					n.Nominated = append(n.Nominated, api.Pod{
						Name:     fmt.Sprintf("app-%03d-5d4f8c7b9-%s", p.Template, n.Name),
						Template: c.Templates[p.Template], TemplateIndex: p.Template,
					})
				}
				n.PodCounts = nil
			}
			return c
		},
		"images": func() *api.Cluster {
			c := bigCluster(1000, true)
			for i := range c.Nodes {
				for j := range 40 {
					name := fmt.Sprintf("registry.example.com/team/image-%d:v1", (i*7+j*13)%500)
					c.Nodes[i].Images = append(c.Nodes[i].Images, api.Image{Names: []string{name}, SizeBytes: 100 << 20})
				}
			}
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := heap()
			c := compileAndAsk(t, stated())
			kept := int64(heap() - before)
			got := c.Bytes()
			if got < kept*7/10 || got > kept*13/10 {
				t.Errorf("Bytes = %d, the heap grew by %d", got, kept)
			}
			runtime.KeepAlive(c)
		})
	}
}

// compileAndAsk compiles a cluster and lets nothing but it live.
func compileAndAsk(t *testing.T, stated *api.Cluster) *engine.Cluster {
	c := compiled(t, stated)
	for i := range 12 {
		pod := &api.Pod{TemplateIndex: i, Template: stated.Templates[i]}
		if _, err := c.Score(context.Background(), pod, engine.ScoreOptions{Profile: api.Kube137()}); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
