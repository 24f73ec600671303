package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	kclock "k8s.io/utils/clock"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/fake"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/test"
)

// poolName is the name of the only NodePool.
const poolName = "default"

// karpenter is the parts of Karpenter that simulate.
type karpenter struct {
	client   *memory
	provider *fake.CloudProvider
	cluster  *state.Cluster
	pool     *v1.NodePool
	types    []*cloudprovider.InstanceType
	recorder events.Recorder
}

// newKarpenter has its fake cloud provider with instance types, and knows the nodes of a cluster, if there is one.
func newKarpenter(ctx context.Context, types int, c *clusterOf) (*karpenter, error) {
	k := &karpenter{provider: fake.NewCloudProvider(), recorder: events.NewRecorder(&record.FakeRecorder{})}
	k.types = fake.InstanceTypes(types)
	k.provider.InstanceTypes = k.types
	k.pool = test.NodePool(v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: poolName}, Spec: v1.NodePoolSpec{Limits: v1.Limits{
		corev1.ResourceCPU: resource.MustParse("10000000"), corev1.ResourceMemory: resource.MustParse("10000000Gi"),
	}}})
	if c == nil {
		c = &clusterOf{}
	}
	k.client = newMemory(c, k.pool)
	k.cluster = state.NewCluster(kclock.RealClock{}, k.client, k.provider)
	for _, n := range c.nodes {
		k.cluster.UpdateNodeClaim(test.NodeClaim(v1.NodeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}, Status: v1.NodeClaimStatus{ProviderID: n.Spec.ProviderID},
		}))
		if err := k.cluster.UpdateNode(ctx, n); err != nil {
			return nil, err
		}
	}
	for _, p := range c.pods {
		if err := k.cluster.UpdatePod(ctx, p); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// provisioned is Karpenter's answer to pods without nodes.
type provisioned struct {
	results            scheduling.Results
	pods               int
	preparing, solving timing
}

// provision finds nodes for pods where there are none, as benchmarkScheduler (scheduling_benchmark_test.go) does, which times
// Solve alone.
func (k *karpenter) provision(ctx context.Context, pods []*corev1.Pod) (*provisioned, error) {
	of := slices.Clone(pods) // Solve sorts it
	concurrency := scheduling.NumConcurrentReconciles(5)
	pools, types := []*v1.NodePool{k.pool}, map[string][]*cloudprovider.InstanceType{poolName: k.types}
	begin := now()
	topology, err := scheduling.NewTopology(ctx, k.client, k.cluster, nil, pools, types, of, concurrency)
	if err != nil {
		return nil, err
	}
	scheduler := scheduling.NewScheduler(ctx, k.client, pools, k.cluster, nil, topology, types, nil, k.recorder, kclock.RealClock{},
		nil, nil, concurrency)
	out := &provisioned{pods: len(pods), preparing: begin.took()}
	begin = now()
	out.results, err = scheduler.Solve(ctx, of)
	out.solving = begin.took()
	return out, err
}

// cheapest returns the type and the offering that Karpenter launches for a claim: the cheapest.
func cheapest(claim *scheduling.NodeClaim) (*cloudprovider.InstanceType, *cloudprovider.Offering) {
	of := slices.Clone(claim.InstanceTypeOptions).OrderByPrice(claim.Requirements)[0]
	return of, of.Offerings.Launchable().Compatible(claim.Requirements).Cheapest()
}

// check checks that all pods are placed, that they fit, and what does not depend on the order in which they came:
// anti-affinity by hostname, and affinity by zone, all of whose pods must be in one.
func (p *provisioned) check() error {
	for pod, err := range p.results.PodErrors {
		return fmt.Errorf("%s has no node: %w", pod.Name, err)
	}
	placed, zones := 0, map[string]string{}
	for _, claim := range p.results.NewNodeClaims {
		of, offering := cheapest(claim)
		placed += len(claim.Pods)
		n := &load{}
		alone := map[string]int{}
		for _, pod := range claim.Pods {
			n.add(pod)
			if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
				alone[pod.Labels["app"]]++
			} else if a != nil {
				label, zone := pod.Labels["my-affininity"], offering.Zone()
				if in, known := zones[label]; known && in != zone {
					return fmt.Errorf("pods with affinity to %s are in %s and %s", label, in, zone)
				}
				zones[label] = zone
			}
		}
		for app, count := range alone {
			if count > 1 {
				return fmt.Errorf("a node has %d pods of %s", count, app)
			}
		}
		if !n.within(of.Allocatable()) {
			return errors.New("a node is too full")
		}
	}
	if placed != p.pods {
		return fmt.Errorf("%d pods of %d are on nodes", placed, p.pods)
	}
	return nil
}

// nodes returns the nodes that Karpenter would launch, and their cost.
func (p *provisioned) nodes() (nodes []*corev1.Node, cost uint64) {
	for i, claim := range p.results.NewNodeClaims {
		of, offering := cheapest(claim)
		nodes = append(nodes, nodeOf(of, offering, fmt.Sprintf("claim-%05d", i)))
		cost += price(offering)
	}
	return nodes, cost
}

// nodeOf is a node of an instance type.
func nodeOf(of *cloudprovider.InstanceType, offering *cloudprovider.Offering, name string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelHostname: name, corev1.LabelTopologyZone: offering.Zone(), corev1.LabelInstanceTypeStable: of.Name,
		v1.CapacityTypeLabelKey: offering.CapacityType(), corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
		v1.NodePoolLabelKey: poolName,
	}}}
	n.Status.Capacity, n.Status.Allocatable = of.Capacity, of.Allocatable()
	return n
}

// perUnit is how many of Stowage's units of price are one of Karpenter's.
const perUnit = 1e6

func price(o *cloudprovider.Offering) uint64 { return uint64(o.Price*perUnit + 0.5) }

func units(cost uint64) float64 { return float64(cost) / perUnit }

// consolidate checks for some nodes whether their pods fit on the others, one node after the other, as single-node consolidation
// does (computeConsolidation of pkg/controllers/disruption/consolidation.go). It returns the new nodes of these nodes' pods, nil
// where some have none.
func (k *karpenter) consolidate(ctx context.Context, c *clusterOf, sample int) (took timing, moves map[int][]move, err error) {
	real := kclock.RealClock{}
	provisioner := provisioning.NewProvisioner(k.client, k.recorder, k.provider, k.cluster, real, nil, nil)
	queue := disruption.NewQueue(k.client, k.recorder, k.cluster, real, provisioner)
	all, err := disruption.GetCandidates(ctx, k.cluster, k.client, k.recorder, real, k.provider,
		func(context.Context, *disruption.Candidate) bool { return true }, disruption.GracefulDisruptionClass, queue)
	if err != nil {
		return took, nil, err
	}
	if len(all) != len(c.nodes) {
		return took, nil, fmt.Errorf("%d of %d nodes are candidates", len(all), len(c.nodes))
	}
	candidates := map[string]*disruption.Candidate{}
	for _, candidate := range all {
		candidates[candidate.Name()] = candidate
	}
	sample = min(sample, len(c.nodes))
	moves = map[int][]move{}
	for i := range sample {
		node := i * len(c.nodes) / sample
		begin := now()
		results, err := disruption.SimulateScheduling(ctx, k.client, k.cluster, provisioner, real, k.recorder,
			[]scheduling.Options{scheduling.IsConsolidationSimulation}, disruption.SimulationOptions{}, candidates[c.nodes[node].Name])
		one := begin.took()
		took.wall, took.cpu = took.wall+one.wall, took.cpu+one.cpu
		if err != nil {
			return took, nil, err
		}
		moves[node] = nil
		if len(results.NewNodeClaims) > 0 || !results.AllNonPendingPodsScheduled() {
			continue
		}
		for _, n := range results.ExistingNodes {
			for _, pod := range n.Pods {
				moves[node] = append(moves[node], move{pod.Labels["app"], c.index[n.Name()]})
			}
		}
	}
	return took, moves, nil
}
