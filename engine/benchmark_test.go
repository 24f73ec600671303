package engine_test

import (
	"context"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

func BenchmarkCompile(b *testing.B) {
	ctx := context.Background()
	for name, stated := range map[string]*api.Cluster{"classes=60": enginetest.Big(5000, true), "classes=0": enginetest.Big(5000, false)} {
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
