package bench

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/bench/loopback"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// BenchmarkDelta measures what a delta of one pod costs: to put it on a snapshot, and a Filter about the result. The snapshots state
// their pods as counts, by name, by name with a label for each pod, and by name with a template for each pod. The last one has 50,000
// claims; beside the delta of one pod there are deltas that bind a claim, and that add one.
func BenchmarkDelta(b *testing.B) {
	for _, of := range []struct {
		name    string
		cluster func() *stowagev1.Cluster
	}{
		{"nodes=5000/pods=counted", func() *stowagev1.Cluster { return bigcluster.Compact(bigcluster.New(5000)) }},
		{"nodes=5000/pods=named", func() *stowagev1.Cluster {
			return compacted(b, bigcluster.StatedInFull(bigcluster.New(5000)))
		}},
		{"nodes=5000/pods=labels", func() *stowagev1.Cluster {
			return labelled(compacted(b, bigcluster.StatedInFull(bigcluster.New(5000))))
		}},
		{"nodes=5000/pods=templates", func() *stowagev1.Cluster { return bigcluster.StatedInFull(bigcluster.New(5000)) }},
		{"nodes=500000/pods=counted", func() *stowagev1.Cluster { return bigcluster.Compact(bigcluster.New(500_000)) }},
	} {
		b.Run(of.name, func(b *testing.B) { benchmarkDelta(b, of.cluster(), nil) })
	}
	claims := claimed(bigcluster.Compact(bigcluster.New(5000)), 50_000)
	for name, change := range map[string]func(d *deltas) *stowagev1.ClusterDelta{
		"delta=pod": nil, "delta=claim-bound": (*deltas).boundClaim, "delta=claim-added": (*deltas).addedClaim,
	} {
		b.Run("nodes=5000/claims=50000/"+name, func(b *testing.B) { benchmarkDelta(b, claims, change) })
	}
}

// claimed gives a cluster claims, which are bound to zonal volumes.
func claimed(c *stowagev1.Cluster, claims int) *stowagev1.Cluster {
	c.StorageClasses = []*stowagev1.StorageClass{{
		Name: "fast", Provisioner: "disk.example", VolumeBindingMode: stowagev1.VolumeBindingMode_VOLUME_BINDING_MODE_WAIT_FOR_FIRST_CONSUMER,
	}}
	for i := range claims {
		c.PersistentVolumes = append(c.PersistentVolumes, &stowagev1.PersistentVolume{
			Name: fmt.Sprint("pv-", i), StorageClassName: "fast", Capacity: 1 << 30,
			Claim: &stowagev1.ClaimReference{Namespace: "default", Name: fmt.Sprint("data-", i)},
			NodeAffinity: &stowagev1.NodeSelector{Terms: []*stowagev1.NodeSelectorTerm{{MatchExpressions: []*stowagev1.NodeSelectorRequirement{{
				Key: "topology.kubernetes.io/zone", Operator: stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_IN, Values: []string{fmt.Sprint("zone-", i%3)},
			}}}}},
		})
		c.PersistentVolumeClaims = append(c.PersistentVolumeClaims, &stowagev1.PersistentVolumeClaim{
			Namespace: "default", Name: fmt.Sprint("data-", i), VolumeName: fmt.Sprint("pv-", i), BindCompleted: true,
			Spec: &stowagev1.PersistentVolumeClaimSpec{StorageClassName: "fast"},
		})
	}
	return c
}

func (d *deltas) boundClaim() *stowagev1.ClusterDelta {
	claim := proto.CloneOf(d.cluster.PersistentVolumeClaims[d.number*7919%len(d.cluster.PersistentVolumeClaims)])
	claim.Uid = fmt.Sprint(d.number)
	return &stowagev1.ClusterDelta{PersistentVolumeClaims: []*stowagev1.PersistentVolumeClaim{claim}}
}

func (d *deltas) addedClaim() *stowagev1.ClusterDelta {
	return &stowagev1.ClusterDelta{PersistentVolumeClaims: []*stowagev1.PersistentVolumeClaim{{
		Namespace: "default", Name: fmt.Sprint("data-", d.number*7919%50_000, "-new"), Spec: &stowagev1.PersistentVolumeClaimSpec{StorageClassName: "fast"},
	}}}
}

// labelled gives each pod a label of its own, as a StatefulSet does.
func labelled(c *stowagev1.Cluster) *stowagev1.Cluster {
	for _, n := range c.Nodes {
		for i, p := range n.Pods {
			p.Labels = map[string]string{"statefulset.kubernetes.io/pod-name": fmt.Sprint(n.Name, "-", i)}
		}
	}
	return c
}

func compacted(b *testing.B, c *stowagev1.Cluster) *stowagev1.Cluster {
	b.Helper()
	out, err := compact.Cluster(c, compact.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return out
}

func benchmarkDelta(b *testing.B, cluster *stowagev1.Cluster, change func(*deltas) *stowagev1.ClusterDelta) {
	stowage := serve(b, func() (*loopback.Server, error) { return loopback.ServeStowageWith(16 << 30) })
	d := &deltas{cluster: cluster, change: change}
	var err error
	if d.content, err = content.Of(cluster); err != nil {
		b.Fatal(err)
	}
	base, err := sent(stowage, inParts(b, d.content))
	if err != nil {
		b.Fatal(err)
	}
	filter := func(request []byte) {
		if _, err := stowage.Call(context.Background(), stowagev1.PlacementService_Filter_FullMethodName, request); err != nil {
			b.Fatal(err)
		}
	}
	// measure measures one of the calls that prepare returns, each of which is another.
	measure := func(name string, prepare func() func()) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				call := prepare()
				b.StartTimer()
				call()
			}
		})
	}
	measure("put", func() func() {
		messages := d.put(b)
		return func() {
			if _, err := sent(stowage, messages); err != nil {
				b.Fatal(err)
			}
		}
	})
	remembered := d.filter(b, base, nil)
	measure("filter", func() func() { return func() { filter(remembered) } })
	measure("filter-after-put", func() func() {
		address, err := sent(stowage, d.put(b))
		if err != nil {
			b.Fatal(err)
		}
		request := d.filter(b, address, nil)
		return func() { filter(request) }
	})
	measure("filter-with-delta", func() func() {
		request := d.filter(b, base, d.next())
		return func() { filter(request) }
	})
}

// inParts returns the messages that put a content.
func inParts(b *testing.B, c *content.Content) (messages [][]byte) {
	b.Helper()
	for raw := range c.Parts() {
		part := &stowagev1.Cluster{}
		if err := proto.Unmarshal(raw, part); err != nil {
			b.Fatal(err)
		}
		messages = append(messages, encoded(b, &stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_Part{Part: part}}))
	}
	return append(messages, encoded(b, &stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_End{End: &stowagev1.PutSnapshotEnd{}}}))
}

// deltas is deltas of one pod or one claim to a snapshot, each to another node or claim.
type deltas struct {
	cluster *stowagev1.Cluster
	content *content.Content
	number  int
	change  func(*deltas) *stowagev1.ClusterDelta // nil for a pod more
}

func (d *deltas) next() *stowagev1.ClusterDelta {
	if d.number++; d.change != nil {
		return d.change(d)
	}
	return &stowagev1.ClusterDelta{NodePods: []*stowagev1.NodePodsDelta{{
		NodeName: d.cluster.Nodes[d.number*7919%len(d.cluster.Nodes)].Name,
		Pods: []*stowagev1.Pod{{
			Name: fmt.Sprint("new-", d.number), Source: &stowagev1.Pod_Template{Template: bigcluster.Template(2)},
		}},
	}}}
}

// put returns the messages that put the next delta.
func (d *deltas) put(b *testing.B) (messages [][]byte) {
	delta := d.next()
	after, _, err := d.content.Apply(context.Background(), delta)
	if err != nil {
		b.Fatal(err)
	}
	for _, step := range []*stowagev1.PutSnapshotRequest{
		{Step: &stowagev1.PutSnapshotRequest_BaseAddress{BaseAddress: d.content.Address().String()}},
		{Step: &stowagev1.PutSnapshotRequest_Delta{Delta: delta}},
		{Step: &stowagev1.PutSnapshotRequest_End{End: &stowagev1.PutSnapshotEnd{Address: proto.String(after.Address().String())}}},
	} {
		messages = append(messages, encoded(b, step))
	}
	return messages
}

// filter returns a Filter about a snapshot with a delta.
func (d *deltas) filter(b *testing.B, address string, delta *stowagev1.ClusterDelta) []byte {
	return encoded(b, &stowagev1.FilterRequest{
		Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Snapshot{
			Snapshot: &stowagev1.SnapshotReference{Address: address, Delta: delta},
		}},
		Pod: &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: bigcluster.Template(9)}},
	})
}

func encoded(b *testing.B, m proto.Message) []byte {
	b.Helper()
	bytes, err := proto.Marshal(m)
	if err != nil {
		b.Fatal(err)
	}
	return bytes
}
