package manifest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/clients/apply"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/manifest"
)

// TestFork: what is read, scaled and added in one Reader does not count in the other, in whatever order snapshots are built.
func TestFork(t *testing.T) {
	const cluster = `
{apiVersion: v1, kind: Node, metadata: {name: m, uid: u, labels: {kubernetes.io/hostname: m}}, spec: {unschedulable: true},
 status: {allocatable: {cpu: "4", pods: "9"}}}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, uid: s}, spec: {replicas: 1, selector: {matchLabels: {app: db}},
 template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: i}]}}}}
`
	for _, first := range []bool{true, false} {
		base := manifest.NewReader(kube.Options{})
		base.Apply = apply.Manifest
		if err := base.Read("cluster", strings.NewReader(cluster)); err != nil {
			t.Fatal(err)
		}
		fork := base.Fork()
		const labelled = "{apiVersion: v1, kind: Node, metadata: {name: m, labels: {disk: ssd}}}"
		if err := fork.Read("more", strings.NewReader(labelled)); err != nil {
			t.Fatal(err)
		}
		const quota = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}}"
		if err := fork.Read("quota", strings.NewReader(quota)); err != nil {
			t.Fatal(err)
		}
		if of, more := base.SkippedDeciding(), fork.SkippedDeciding(); len(of) != 0 || len(more) != 1 {
			t.Errorf("skipped are %v, and of the fork %v", of, more)
		}
		if _, err := fork.Scale("StatefulSet", "", "db", 3); err != nil {
			t.Fatal(err)
		}
		if _, err := fork.AddNodes("m", 2, "z"); err != nil {
			t.Fatal(err)
		}
		readers := []*manifest.Reader{base, fork}
		want := []string{"nodes m queue 0 notices 0", "nodes m m-new-1 m-new-2 queue 2 notices 1"}
		if !first {
			readers, want = []*manifest.Reader{fork, base}, []string{want[1], want[0]}
		}
		for i, r := range readers {
			s, err := r.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			got := "nodes"
			for _, n := range s.Cluster.Nodes {
				got += " " + n.Name
				if fresh := n.Name != "m"; n.Unschedulable == fresh {
					t.Errorf("%s: unschedulable is %v", n.Name, n.Unschedulable)
				}
			}
			if got += fmt.Sprintf(" queue %d notices %d", len(s.Queue), len(r.Notices())); got != want[i] {
				t.Errorf("%s, want %s", got, want[i])
			}
		}
	}
}
