package engine_test

import (
	"context"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

func BenchmarkPlaceJointly(b *testing.B) {
	ctx := context.Background()
	c := compiled(b, bigCluster(5000, true))
	o := engine.JointOptions{Profile: api.Kube137()}
	for _, test := range []struct {
		name   string
		group  []engine.Pending
		status verdict.JointStatus
	}{
		{"one-by-one", distinct(1000, func(_ int, p *enginetest.Pod) { p.AntiAffinity(hostname, everyG) }), verdict.JointComplete},
		{"ring-by-rack", distinct(1000, func(i int, p *enginetest.Pod) { p.Affinity("example.com/rack", g(i+1)) }), verdict.JointComplete},
		{"too-few-zones", distinct(1000, func(_ int, p *enginetest.Pod) { p.AntiAffinity(zone, everyG) }), verdict.JointInfeasible},
	} {
		b.Run("nodes=5000/pods=8/case="+test.name+"/part=all", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				got, err := c.PlaceJointly(ctx, test.group, o)
				if err != nil || got.Status != test.status {
					b.Fatalf("%v %v", got, err)
				}
			}
		})
		b.Run("nodes=5000/pods=8/case="+test.name+"/part=search", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				nodes, known, _ := c.SearchJointly(ctx, test.group, o)
				if !known || (nodes != nil) != (test.status == verdict.JointComplete) {
					b.Fatalf("%v %v", nodes, known)
				}
			}
		})
	}
}
