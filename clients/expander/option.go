package expander

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	"github.com/stowage-scheduler/stowage/clients/kube/controller"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/proto/grpcplugin"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Bounds of the nodes that each option and all options may add, which bound the size of a request.
const (
	maximumNodes    = 10_000
	maximumAllNodes = 20_000
)

// option is an option and its evaluation.
type option struct {
	group string
	count int
	node  *corev1.Node
	pods  [][]*corev1.Pod // by entry of queue
	queue []*stowagev1.PendingPods
	nodes []*stowagev1.Node
	// templates are the templates of the nodes' DaemonSet pods.
	templates []*stowagev1.IndexedPodTemplate

	total   int // pods
	unread  int // pods with unsupported fields
	odd     int // pods that do not convert
	claims  int // pods with claims
	devices newDevices
	// unlimited: how many volumes can be attached to the nodes is not known.
	unlimited bool
	problem   error

	price  float64
	priced bool

	placed, used int
	waste        float64
	message      string // of the first pod without a node
}

// newDevices are the devices of the nodes of an option.
type newDevices struct {
	slices   []*stowagev1.ResourceSlice
	like     string                     // a node with such devices, "" if there is none
	template []*stowagev1.ResourceSlice // of that node
	claims   int                        // pods with resource claims, or with extended resources of DeviceClasses
}

// read reads an option of a request. The result reports problems of the option.
func (e *Expander) read(ctx context.Context, r *grpcplugin.BestOptionsRequest, from *grpcplugin.Option, s *surroundings) *option {
	o := &option{group: from.GetNodeGroupId(), count: int(from.GetNodeCount())}
	if o.problem = o.readNode(r); o.problem != nil {
		return o
	}
	o.price, o.priced = e.o.Prices.find(o.group, o.node)
	if o.problem = o.addNodes(ctx, s); o.problem != nil {
		return o
	}
	pods := from.GetPodBytes()
	if len(pods) == 0 {
		pods = from.GetPod()
	}
	o.problem = o.readPods(ctx, pods, s)
	return o
}

func (o *option) readNode(r *grpcplugin.BestOptionsRequest) error {
	raw, ok := r.GetNodeBytesMap()[o.group]
	if !ok {
		raw, ok = r.GetNodeMap()[o.group]
	}
	switch {
	case !ok:
		return errors.New("the request has no node of the group")
	case o.count < 1 || o.count > maximumNodes:
		return fmt.Errorf("adds %d nodes; 1 to %d can be verified", o.count, maximumNodes)
	}
	o.node = &corev1.Node{}
	if err := o.node.Unmarshal(raw); err != nil {
		return fmt.Errorf("the node of the group: %w", err)
	}
	return nil
}

// addNodes creates the nodes of the group. They equal the given node except for their names: its name, as long as the id of the
// group, may be too long for the label of the host name.
func (o *option) addNodes(ctx context.Context, s *surroundings) error {
	var first *stowagev1.Node
	for number := 0; len(o.nodes) < o.count; number++ {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		name := fmt.Sprintf("stowage-new-%d", number)
		if s.taken(name) {
			continue
		}
		if first == nil {
			var err error
			if first, err = o.newNode(ctx, name, s); err != nil {
				return err
			}
		}
		n := compact.Shallow(first)
		n.Name, n.Labels = name, maps.Clone(first.Labels)
		n.Pods, n.NominatedPods = nil, nil
		n.Labels[corev1.LabelHostname] = name
		o.nodes = append(o.nodes, n)
		o.addDevices(name, s)
	}
	return nil
}

// addDevices gives a new node the devices of a node like it.
func (o *option) addDevices(name string, s *surroundings) {
	if s.devices == nil {
		return
	}
	if len(o.nodes) == 1 {
		o.devices.like, o.devices.template = s.devices(o.node)
	}
	for _, of := range o.devices.template {
		slice := compact.Shallow(of)
		slice.Name, slice.NodeName = name+"-"+of.Name, name
		if slice.Pool = name; of.Pool != o.devices.like {
			slice.Pool += "-" + of.Pool
		}
		o.devices.slices = append(o.devices.slices, slice)
	}
}

// newNode converts the node of the group under a name, with its DaemonSet pods, each with its own template. The nodes of a group
// share these templates: no DaemonSet selects a generated name.
func (o *option) newNode(ctx context.Context, name string, s *surroundings) (*stowagev1.Node, error) {
	n := o.node.DeepCopy()
	n.Name = name
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	n.Labels[corev1.LabelHostname] = name
	out, err := convert.Node(n)
	if err != nil {
		return nil, fmt.Errorf("the node of the group: %w", err)
	}
	if s.storage != nil {
		added := s.storage(n)
		added.Apply(out)
		o.unlimited = added.Like == ""
	}
	for _, ds := range s.daemons {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		p, err := controller.DaemonPod(ds, n)
		if err != nil {
			return nil, fmt.Errorf("DaemonSet %s/%s: %w", ds.Namespace, ds.Name, err)
		}
		if p == nil {
			continue
		}
		running := convert.OccupyingPod(p)
		if running.Amounts != nil {
			return nil, fmt.Errorf("DaemonSet %s/%s: %w", ds.Namespace, ds.Name, running.Amounts)
		}
		template := running.Pod.GetTemplate()
		maps.Copy(template.Labels, running.Pod.Labels)
		index := s.templates + uint32(len(o.templates))
		o.templates = append(o.templates, &stowagev1.IndexedPodTemplate{Index: index, Template: template})
		out.PodCounts = append(out.PodCounts, &stowagev1.PodCount{TemplateIndex: index, Count: 1})
	}
	return out, nil
}

// readPods creates the queue of the pods, in kube-scheduler's order. A pod that does not convert counts as unschedulable.
func (o *option) readPods(ctx context.Context, raw [][]byte, s *surroundings) error {
	if len(raw) == 0 {
		return errors.New("the request has no pods of the option")
	}
	type pending struct {
		object *corev1.Pod
		pod    *stowagev1.Pod
	}
	var pods []pending
	for i, bytes := range raw {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p := &corev1.Pod{}
		if err := p.Unmarshal(bytes); err != nil {
			return fmt.Errorf("pod %d: %w", i, err)
		}
		o.total++
		out, err := s.pending(p)
		if err != nil {
			o.odd++
			o.message = cmp.Or(o.message, fmt.Sprintf("pod %s/%s: %v", p.Namespace, p.Name, err))
			continue
		}
		if len(out.Unread) > 0 {
			o.unread++
		}
		if slices.ContainsFunc(out.GetTemplate().GetSpec().GetVolumes(), func(v *stowagev1.Volume) bool {
			return v.GetPersistentVolumeClaim() != nil || v.GetEphemeral() != nil
		}) {
			o.claims++
		}
		if s.devices != nil && (len(p.Spec.ResourceClaims) > 0 || len(convert.ServedByDevices(p, out, s.classes)) > 0) {
			o.devices.claims++
		}
		pods = append(pods, pending{p, out})
	}
	slices.SortStableFunc(pods, func(a, b pending) int {
		return kube.ComparePending(a.pod, b.pod, a.object.CreationTimestamp.Time, b.object.CreationTimestamp.Time)
	})
	for i, p := range pods {
		if i > 0 && kube.Alike(pods[i-1].pod, p.pod) {
			at := len(o.queue) - 1
			*o.queue[at].Count++
			o.pods[at] = append(o.pods[at], p.object)
			continue
		}
		o.queue = append(o.queue, &stowagev1.PendingPods{Pod: p.pod, Count: new(uint32(1))})
		o.pods = append(o.pods, []*corev1.Pod{p.object})
	}
	return nil
}

// take evaluates the response for the option. first is the index of the first added node.
func (o *option) take(answer *stowagev1.PlaceResponse, first uint32) {
	o.placed = int(answer.GetPlacedCount())
	used := map[uint32]bool{}
	var cpu, memory int64
	for i, p := range answer.GetPlacements() {
		for j, n := range p.GetNodes().GetIndexes() {
			if n < first {
				continue
			}
			used[n] = true
			requests := resourcehelper.PodRequests(o.pods[i][j], resourcehelper.PodResourcesOptions{})
			cpu, memory = cpu+requests.Cpu().MilliValue(), memory+requests.Memory().Value()
		}
		if p.Message != "" && o.message == "" {
			of := o.pods[i][min(len(p.GetNodes().GetIndexes()), len(o.pods[i])-1)]
			o.message = fmt.Sprintf("pod %s/%s: %s", of.Namespace, of.Name, p.Message)
		}
	}
	o.used = len(used)
	o.waste = (unused(o.node.Status.Allocatable.Cpu().MilliValue(), cpu, o.count) +
		unused(o.node.Status.Allocatable.Memory().Value(), memory, o.count)) / 2
}

// unused is the fraction of an amount on nodes that is not requested, 0 for no amount.
func unused(each, requested int64, nodes int) float64 {
	all := float64(each) * float64(nodes)
	if all <= 0 {
		return 0
	}
	return 1 - float64(requested)/all
}

func (o *option) cost() float64 { return o.price * float64(o.count) }

// compare is less than 0 if o is better, and 0 if neither is.
func (o *option) compare(other *option) int {
	return cmp.Or(
		-cmp.Compare(o.placed, other.placed),
		-compareBools(o.priced, other.priced),
		cmp.Compare(o.cost(), other.cost()),
		cmp.Compare(o.count, other.count),
		cmp.Compare(o.waste, other.waste),
	)
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// String describes the option's result.
func (o *option) String() string {
	if o.problem != nil {
		return fmt.Sprintf("%s: not verified: %v", o.group, o.problem)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: places %d of %d pods, and uses %d of %d new nodes", o.group, o.placed, o.total, o.used, o.count)
	if o.priced {
		fmt.Fprintf(&b, " for %.6g", o.cost())
	}
	fmt.Fprintf(&b, "; wastes %.1f %%", 100*o.waste)
	if o.unread > 0 {
		fmt.Fprintf(&b, "; %d pods have unsupported fields, such as volumes", o.unread)
	}
	if o.claims > 0 && o.unlimited {
		fmt.Fprintf(&b, "; no node of the cluster is like the new ones: no limit of attached volumes counts for the %d pods with claims", o.claims)
	}
	switch {
	case o.devices.claims > 0 && o.devices.like == "":
		fmt.Fprintf(&b, "; no node of the cluster with devices is like the new ones: they count without devices for the %d pods with resource claims", o.devices.claims)
	case o.devices.claims > 0:
		fmt.Fprintf(&b, "; the new nodes are assumed to have the devices of %s", o.devices.like)
	}
	if o.message != "" {
		fmt.Fprintf(&b, "; %s", o.message)
	}
	return b.String()
}
