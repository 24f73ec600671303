package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	client "github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// stowage is a client of a server in this process. It repeats each call. The time is the median: encoding, the call with the cluster
// in the request, and decoding. It does not include the conversion of Kubernetes objects, nor does Karpenter's time.
type stowage struct {
	*client.Client
	turns int
}

// built converts objects. templates are nodes to add.
func built(nodes []*corev1.Node, pods []*corev1.Pod, templates []*corev1.Node) (*kube.Snapshot, error) {
	b := kube.NewBuilder(kube.Options{CountPods: true, SchedulerName: kube.AnyScheduler, GivenOrder: true})
	for _, n := range nodes {
		if err := b.AddNode(n); err != nil {
			return nil, err
		}
	}
	for _, n := range templates {
		if err := b.AddNodeTemplate(n); err != nil {
			return nil, err
		}
	}
	for _, p := range pods {
		if err := b.AddPod(p); err != nil {
			return nil, err
		}
	}
	return b.Build()
}

// ask repeats a call several times. All answers must be equal.
func ask[A proto.Message](turns int, question func() ([]A, error)) (took timing, answer []A, err error) {
	var all []timing
	for range max(1, turns) {
		begin := now()
		again, err := question()
		if err != nil {
			return took, nil, err
		}
		all = append(all, begin.took())
		for i := range answer {
			if len(again) != len(answer) || !proto.Equal(again[i], answer[i]) {
				return took, nil, errors.New("the same question has two answers")
			}
		}
		answer = again
	}
	return median(all), answer, nil
}

// added is the answer of Provision.
type added struct {
	nodes       []*corev1.Node
	at          []int // by pod
	cost, bound uint64
	steps       int
	took        timing
}

// provision requests nodes, each a type in a zone. steps is the budget of the search, 0 for the default.
func (s *stowage) provision(
	ctx context.Context, types []*cloudprovider.InstanceType, pods []*corev1.Pod, steps int,
) (*added, error) {
	var templates []*corev1.Node
	for _, t := range types {
		for _, o := range t.Offerings {
			n := nodeOf(t, o, fmt.Sprintf("%s-%s-%s", t.Name, o.Zone(), o.CapacityType()))
			n.Annotations = map[string]string{convert.NodePriceAnnotation: strconv.FormatUint(price(o), 10)}
			templates = append(templates, n)
		}
	}
	snapshot, err := built(nil, pods, templates)
	if err != nil {
		return nil, err
	}
	request := snapshot.ProvisionRequest()
	if steps > 0 {
		request.MaxSteps = new(uint32(steps))
	}
	out := &added{}
	took, answers, err := ask(s.turns, func() ([]*stowagev1.ProvisionResponse, error) {
		a, err := s.Provision(ctx, request)
		return []*stowagev1.ProvisionResponse{a}, err
	})
	if err != nil {
		return nil, err
	}
	a := answers[0]
	out.took, out.cost, out.bound, out.steps = took, a.Cost, a.LowerBound, int(a.Steps)
	for t, count := range a.Counts {
		for range count {
			n := templates[t].DeepCopy()
			n.Name = a.NodeNames[len(out.nodes)]
			n.Labels[corev1.LabelHostname] = n.Name
			out.nodes = append(out.nodes, n)
		}
	}
	out.at, err = nodesOf(a.Place, snapshot, pods)
	return out, err
}

// nodesOf returns the index of the node of each pod, and fails unless all have one.
func nodesOf(a *stowagev1.PlaceResponse, snapshot *kube.Snapshot, pods []*corev1.Pod) (at []int, err error) {
	for i, p := range a.Placements {
		if name := snapshot.Queue[i].Origin.Name; i >= len(pods) || name != pods[i].Name || p.UnplacedCount > 0 {
			return nil, fmt.Errorf("%s: %d pods are unplaced: %s", name, p.UnplacedCount, p.Message)
		}
		at = append(at, int(p.Nodes.Indexes[0]))
	}
	return at, nil
}

// place returns how many pods have a node by kube-scheduler's rules, in the order of pods.
func (s *stowage) place(ctx context.Context, nodes []*corev1.Node, pods []*corev1.Pod) (placed int, err error) {
	snapshot, err := built(nodes, pods, nil)
	if err != nil {
		return 0, err
	}
	a, err := s.Place(ctx, snapshot.PlaceRequest())
	if err != nil {
		return 0, err
	}
	for _, p := range a.Placements {
		placed += len(p.Nodes.GetIndexes())
	}
	return placed, nil
}

// drained is the answer of Drain: the new nodes of each node's pods, nil where some stay pending.
type drained struct {
	moves [][]move
	took  timing
}

// drain drains each node alone, in one call.
func (s *stowage) drain(ctx context.Context, c *clusterOf) (*drained, error) {
	snapshot, err := built(c.nodes, c.pods, nil)
	if err != nil {
		return nil, err
	}
	request, err := snapshot.DrainRequest(nil)
	if err != nil {
		return nil, err
	}
	request.Mode, request.IncludeMoves = stowagev1.DrainMode_DRAIN_MODE_EACH, true
	took, parts, err := ask(s.turns, func() (parts []*stowagev1.DrainResponse, err error) {
		stream, err := s.Drain(ctx, request)
		for err == nil {
			var part *stowagev1.DrainResponse
			if part, err = stream.Recv(); err == nil {
				parts = append(parts, part)
			}
		}
		if err == io.EOF { //nolint:errorlint // as gRPC returns it
			err = nil
		}
		return parts, err
	})
	if err != nil {
		return nil, err
	}
	out := &drained{moves: make([][]move, len(c.nodes)), took: took}
	for _, part := range parts {
		d := part.GetDrain()
		if d == nil || d.Status != stowagev1.DrainStatus_DRAIN_STATUS_DRAINED {
			continue
		}
		moves := []move{}
		for _, m := range d.Moves {
			app := snapshot.Cluster.PodTemplates[m.Pod.GetTemplateIndex()].Labels["app"]
			for _, to := range m.Nodes.Indexes {
				moves = append(moves, move{app, int(to)})
			}
		}
		out.moves[d.Nodes.Indexes[0]] = moves
	}
	return out, nil
}
