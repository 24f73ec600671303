package content

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Append appends the canonical encoding of an item and does not modify the item. It fails on invalid UTF-8, on sums of pod
// counts that overflow, and on messages that are not items of a cluster.
func Append(b []byte, item proto.Message) ([]byte, error) {
	e := encoder{b: b}
	if err := e.item(item); err != nil {
		return nil, err
	}
	return e.b, nil
}

// encodeNode returns a normalized node and its canonical encoding.
func encodeNode(n *stowagev1.Node) (*stowagev1.Node, []byte, error) {
	n, err := normalize(n)
	if err != nil {
		return nil, nil, err
	}
	var e encoder
	write(&e, n, node)
	return n, e.b, e.err
}

// Canonical returns the canonical encoding of an encoded item of type M. It fails on malformed encodings and as Append does.
func Canonical[M any, P interface {
	*M
	proto.Message
}](raw []byte) ([]byte, error) {
	item := P(new(M))
	if err := decode(raw, item); err != nil {
		return nil, err
	}
	return Append(make([]byte, 0, len(raw)), item)
}

func decode(raw []byte, item proto.Message) error {
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, item); err != nil {
		return errors.New("is malformed")
	}
	return nil
}

// item appends an item.
func (e *encoder) item(item proto.Message) error {
	switch item := item.(type) {
	case *stowagev1.Node:
		n, err := normalize(item)
		if err != nil {
			return err
		}
		write(e, n, node)
	case *stowagev1.PodTemplate:
		write(e, item, podTemplate)
	case *stowagev1.NodeClass:
		write(e, item, nodeClass)
	case *stowagev1.Namespace:
		write(e, item, namespace)
	case *stowagev1.WorkloadSelector:
		write(e, item, workloadSelector)
	case *stowagev1.PodDisruptionBudget:
		write(e, normalizedBudget(item), podDisruptionBudget)
	case *stowagev1.PodGroup:
		write(e, item, podGroup)
	case *stowagev1.StorageClass:
		write(e, item, storageClass)
	case *stowagev1.CSIDriver:
		write(e, item, csiDriver)
	case *stowagev1.CSIStorageCapacity:
		write(e, item, csiStorageCapacity)
	case *stowagev1.PersistentVolume:
		write(e, item, persistentVolume)
	case *stowagev1.PersistentVolumeClaim:
		write(e, item, persistentVolumeClaim)
	case *stowagev1.DeviceType:
		write(e, item, deviceType)
	case *stowagev1.DeviceExpression:
		write(e, item, deviceExpression)
	case *stowagev1.DeviceClass:
		write(e, item, deviceClass)
	case *stowagev1.ResourceSlice:
		write(e, item, resourceSlice)
	case *stowagev1.ResourceClaim:
		write(e, item, resourceClaim)
	default:
		return fmt.Errorf("is a %T, not an item of a cluster", item)
	}
	return e.err
}

func write[M any](e *encoder, m *M, write func(*encoder, *M)) {
	if m != nil {
		write(e, m)
	}
}

// normalize returns the normalized node: the node itself, or a copy that shares everything except the lists of pods.
func normalize(n *stowagev1.Node) (*stowagev1.Node, error) {
	counts, ascending := n.GetPodCounts(), slices.IsSortedFunc(n.GetPodCounts(), compareStrictly)
	if !ascending {
		var err error
		if counts, err = mergeCounts(counts); err != nil {
			return nil, err
		}
	}
	pods, sorted, err := sortedPods(n.GetPods())
	if err != nil {
		return nil, err
	}
	nominated, nominatedSorted, err := sortedPods(n.GetNominatedPods())
	if err != nil || ascending && sorted && nominatedSorted {
		return n, err
	}
	out := shallow(n)
	out.PodCounts, out.Pods, out.NominatedPods = counts, pods, nominated
	return out, nil
}

// normalizedBudget returns the budget itself, or a copy with the disrupted pods in order and each once.
func normalizedBudget(p *stowagev1.PodDisruptionBudget) *stowagev1.PodDisruptionBudget {
	if InOrderOnce(p.GetDisruptedPods()) {
		return p
	}
	out := shallow(p)
	out.DisruptedPods = slices.Compact(slices.Sorted(slices.Values(p.DisruptedPods)))
	return out
}

// shallow returns a copy that shares what the fields refer to.
func shallow[M any, P interface {
	*M
	proto.Message
}](m P) P {
	out := P(new(M))
	m.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		out.ProtoReflect().Set(f, v)
		return true
	})
	return out
}

// InOrderOnce reports whether names are in ascending order and none is there twice, as in a canonical encoding.
func InOrderOnce(names []string) bool {
	for i := 1; i < len(names); i++ {
		if names[i-1] >= names[i] {
			return false
		}
	}
	return true
}

// compareCounts compares pod counts by the pods that they count.
func compareCounts(a, b *stowagev1.PodCount) int {
	return cmp.Or(
		cmp.Compare(a.GetTemplateIndex(), b.GetTemplateIndex()),
		compareBool(a.GetTerminating(), b.GetTerminating()),
		cmp.Compare(a.GetReadiness(), b.GetReadiness()),
	)
}

// compareStrictly is compareCounts, except that counts of the same pods are out of order.
func compareStrictly(a, b *stowagev1.PodCount) int { return cmp.Or(compareCounts(a, b), -1) }

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// mergeCounts returns ordered counts and adds up counts of the same pods.
func mergeCounts(counts []*stowagev1.PodCount) ([]*stowagev1.PodCount, error) {
	counts = slices.Clone(counts)
	slices.SortFunc(counts, compareCounts)
	out := counts[:0]
	for first, next := 0, 0; first < len(counts); first = next {
		c := counts[first]
		var sum uint64
		for ; next < len(counts) && compareCounts(counts[next], c) == 0; next++ {
			sum += uint64(counts[next].GetCount())
		}
		if sum > math.MaxUint32 {
			return nil, &Error{"pod_counts", stowagev1.ViolationReason_VIOLATION_REASON_OUT_OF_RANGE, fmt.Sprintf("add up to %d for template %d, at most %d are allowed",
				sum, c.GetTemplateIndex(), uint32(math.MaxUint32))}
		}
		if next > first+1 {
			c = shallow(c)
			c.Count = uint32(sum)
		}
		out = append(out, c)
	}
	return out, nil
}

// sortedPods returns pods ordered by their canonical encodings, and whether they were ordered before.
func sortedPods(pods []*stowagev1.Pod) (_ []*stowagev1.Pod, ordered bool, _ error) {
	if len(pods) < 2 {
		return pods, true, nil
	}
	type encoded struct {
		pod *stowagev1.Pod
		raw []byte
	}
	byEncoding := func(a, b encoded) int { return bytes.Compare(a.raw, b.raw) }
	var e encoder
	list := make([]encoded, len(pods))
	ends := make([]int, len(pods))
	for i, p := range pods {
		write(&e, p, pod)
		ends[i] = len(e.b)
	}
	if e.err != nil {
		return nil, false, e.err
	}
	start := 0
	for i, p := range pods {
		list[i] = encoded{p, e.b[start:ends[i]]}
		start = ends[i]
	}
	if slices.IsSortedFunc(list, byEncoding) {
		return pods, true, nil
	}
	slices.SortFunc(list, byEncoding)
	pods = make([]*stowagev1.Pod, len(list))
	for i := range list {
		pods[i] = list[i].pod
	}
	return pods, false, nil
}
