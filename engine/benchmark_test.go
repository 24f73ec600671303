package engine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
)

func BenchmarkCompile(b *testing.B) {
	ctx := context.Background()
	for name, stated := range map[string]*api.Cluster{"classes=60": bigCluster(5000, true), "classes=0": bigCluster(5000, false)} {
		b.Run("nodes=5000/pods=150000/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := engine.Compile(ctx, stated); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkWith(b *testing.B) {
	ctx := context.Background()
	stated := bigCluster(5000, true)
	base := compiled(b, stated)
	other := stated.Nodes[2500]
	other.PodCounts = append([]api.PodCount{{Template: 3, Count: 1}}, other.PodCounts[1:]...)
	added := stated.Nodes[17]
	added.Name = "added"
	for name, change := range map[string]*api.Delta{
		"replaced": {Replaced: []api.Replacement{{Index: 2500, Node: other}}},
		"removed":  {Removed: []uint32{2500}},
		"added":    {Added: []api.Node{added}},
	} {
		b.Run("nodes=5000/pods=150000/node="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := base.With(ctx, change); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecide(b *testing.B) {
	ctx := context.Background()
	stated := bigCluster(5000, true)
	c := compiled(b, stated)
	for _, test := range []struct {
		name     string
		template int
	}{{"plain", 2}, {"hostname-anti-affinity", 5}, {"zone-anti-affinity", 7}, {"hard-spread", 12}, {"soft-spread", 3}, {"anti-affinity-and-spread", 9}} {
		pod := &api.Pod{TemplateIndex: test.template, Template: stated.Templates[test.template]}
		profile := api.Kube137()
		for _, key := range []string{"", test.name} {
			b.Run("case="+test.name+"/rpc=filter/key="+key, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r, err := c.Filter(ctx, pod, engine.FilterOptions{Profile: profile, Key: key})
					if err != nil || len(r.Feasible) == 0 || len(r.Feasible) == 5000 {
						b.Fatalf("%v: %d feasible", err, len(r.Feasible))
					}
				}
			})
			b.Run("case="+test.name+"/rpc=score/key="+key, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r, err := c.Score(ctx, pod, engine.ScoreOptions{Profile: profile, Key: key, TotalsOnly: true})
					if err != nil || len(r.Best) == 0 {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkDecideNominated filters with a number of nodes that have two nominated pods.
func BenchmarkDecideNominated(b *testing.B) {
	ctx := context.Background()
	for _, nominated := range []int{0, 20, 1000} {
		stated := bigCluster(5000, true)
		for i := range nominated {
			n := &stated.Nodes[i*len(stated.Nodes)/nominated]
			for _, template := range []int{i % 10, 12} {
				n.Nominated = append(n.Nominated, api.Pod{
					Name: fmt.Sprintf("nominated-%d-%d", i, template), Template: stated.Templates[template], TemplateIndex: template,
				})
			}
		}
		c := compiled(b, stated)
		for _, template := range []int{2, 5, 7, 12, 3, 9} {
			pod := &api.Pod{TemplateIndex: template, Template: stated.Templates[template]}
			b.Run(fmt.Sprintf("nominated=%d/template=%d", nominated, template), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r, err := c.Filter(ctx, pod, engine.FilterOptions{Profile: api.Kube137()})
					if err != nil || len(r.Feasible) == 0 || len(r.Feasible) == 5000 {
						b.Fatalf("%v: %d feasible", err, len(r.Feasible))
					}
				}
			})
		}
	}
}
