package compact

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// set is the nodes of a class, and its images.
type set struct {
	group
	members []int
	images  map[string]bool // by imageKey
	class   *uint32         // the index, once there is a class
}

// withImages divides a group of nodes into the nodes with the images that save most when shared, and the others; one of the two may be
// empty. bytes is the size of the class without images.
func withImages(nodes []*stowagev1.Node, members []int, bytes int) []*set {
	all := &set{group: group{len(members), bytes}, members: members}
	type image struct {
		key     string
		bytes   int
		members []int
	}
	var images []*image
	byKey := map[string]*image{}
	for _, i := range members {
		if namesRepeat(nodes[i].GetImages()) {
			continue
		}
		for _, m := range nodes[i].GetImages() {
			key := imageKey(m)
			in := byKey[key]
			if in == nil {
				in = &image{key: key, bytes: imageBytes(m)}
				byKey[key] = in
				images = append(images, in)
			}
			in.members = append(in.members, i)
		}
	}
	slices.SortFunc(images, func(a, b *image) int {
		return cmp.Or(cmp.Compare(len(b.members), len(a.members)), cmp.Compare(a.key, b.key))
	})
	// Each image of the class restricts its nodes to the ones that have the image.
	shared, having, taken := 0, members, 0
	best, bestTaken, bestCost := all, 0, all.cost()
	for _, in := range images {
		having = common(having, in.members)
		if len(having) < 2 {
			break
		}
		taken++
		shared += in.bytes
		s := &set{group: group{len(having), bytes + shared}, members: having}
		rest := group{len(members) - len(having), bytes}
		if cost := s.cost() + rest.cost() - len(having)*shared; cost < bestCost {
			best, bestTaken, bestCost = s, taken, cost
		}
	}
	best.images = make(map[string]bool, bestTaken)
	for _, in := range images[:bestTaken] {
		best.images[in.key] = true
	}
	if len(best.members) == len(members) {
		return []*set{best}
	}
	rest := slices.DeleteFunc(slices.Clone(members), func(i int) bool {
		_, in := slices.BinarySearch(best.members, i)
		return in
	})
	return []*set{best, {group: group{len(rest), bytes}, members: rest}}
}

// nodeClass is the set's class, read from one of its nodes.
func (s *set) nodeClass(n *stowagev1.Node, shared map[fact]bool) *stowagev1.NodeClass {
	have := selected(n, func(f fact) bool { return shared[f] })
	out := &stowagev1.NodeClass{Taints: have.taints, Allocatable: have.allocatable, DeclaredFeatures: have.features, CsiNode: have.csiNode}
	for key, text := range have.labels {
		if text == n.GetName() {
			out.NameLabelKeys = append(out.NameLabelKeys, key)
		} else {
			put(&out.Labels, key, text)
		}
	}
	slices.Sort(out.NameLabelKeys)
	for _, m := range n.GetImages() {
		if s.images[imageKey(m)] {
			out.Images = append(out.Images, m)
		}
	}
	return out
}

// node is the rest of a node of the set.
func (s *set) node(n *stowagev1.Node, shared map[fact]bool) *stowagev1.Node {
	own := selected(n, func(f fact) bool { return !shared[f] })
	out := Shallow(n)
	out.Labels, out.Taints, out.Allocatable, out.ClassIndex = own.labels, own.taints, own.allocatable, s.class
	out.DeclaredFeatures, out.CsiNode = own.features, own.csiNode
	if len(s.images) > 0 {
		out.Images = slices.DeleteFunc(slices.Clone(n.GetImages()), func(m *stowagev1.ContainerImage) bool {
			return s.images[imageKey(m)]
		})
	}
	return out
}

// common is the intersection of two ascending lists.
func common(a, b []int) []int {
	var out []int
	for _, n := range a {
		for len(b) > 0 && b[0] < n {
			b = b[1:]
		}
		if len(b) > 0 && b[0] == n {
			out = append(out, n)
		}
	}
	return out
}

// namesRepeat reports whether a name occurs twice. Then the first one wins, so the order of the images matters.
func namesRepeat(images []*stowagev1.ContainerImage) bool {
	seen := map[string]bool{}
	for _, m := range images {
		for _, name := range m.GetNames() {
			if seen[name] {
				return true
			}
			seen[name] = true
		}
	}
	return false
}

func imageKey(m *stowagev1.ContainerImage) string {
	key := protowire.AppendVarint(nil, uint64(m.GetSizeBytes()))
	for _, name := range m.GetNames() {
		key = protowire.AppendString(key, name)
	}
	return string(key)
}

func imageBytes(m *stowagev1.ContainerImage) int {
	size := 1 + protowire.SizeVarint(uint64(m.GetSizeBytes()))
	for _, name := range m.GetNames() {
		size += field(len(name))
	}
	return field(size)
}
