// Package lists draws requests from the descriptors of the contract that have many elements and nothing in them: one for each list and
// map of each request, so that a field that is added to the contract is in the tests and attacks that use it.
package lists

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/count"
)

// List is a list or a map of a request.
type List struct {
	// Method is the full name of an RPC, and Path leads from its request to the list.
	Method string
	Path   []protoreflect.FieldDescriptor
}

// All returns the lists of all requests. Messages that are in several places of the same kind are there once: as a part of a cluster, of
// a delta, of a queue.
func All() (out []List) {
	seen := map[string]bool{}
	for _, file := range []protoreflect.FileDescriptor{
		stowagev1.File_stowage_v1_placement_service_proto, stowagev1.File_stowage_v1_simulation_service_proto,
	} {
		for i := range file.Services().Len() {
			s := file.Services().Get(i)
			for j := range s.Methods().Len() {
				m := s.Methods().Get(j)
				l := List{Method: fmt.Sprintf("/%s/%s", s.FullName(), m.Name())}
				out = l.in(m.Input(), seen, out)
			}
		}
	}
	return out
}

func (l List) in(d protoreflect.MessageDescriptor, seen map[string]bool, out []List) []List {
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		at := List{l.Method, append(slices.Clone(l.Path), f)}
		if f.IsList() || f.IsMap() {
			out = append(out, at)
		}
		if f.Message() == nil || f.IsMap() {
			continue
		}
		if key := at.place() + string(f.Message().FullName()); !seen[key] {
			seen[key] = true
			out = at.in(f.Message(), seen, out)
		}
	}
	return out
}

// place is the kind of place of a message: it is decoded in another way in each.
func (l List) place() (place string) {
	for _, f := range l.Path {
		switch f.Name() {
		case "cluster", "part", "delta", "scenarios", "queue", "mix", "templates", "pod":
			place = string(f.Name())
		}
	}
	return place
}

// String is the name of the RPC and the path.
func (l List) String() string {
	names := []string{l.Method[strings.LastIndex(l.Method, "/")+1:]}
	for _, f := range l.Path {
		names = append(names, string(f.Name()))
	}
	return strings.Join(names, ".")
}

// In reports whether the path begins with a field of the request.
func (l List) In(field protoreflect.Name) bool { return l.Path[0].Name() == field }

// InCluster reports whether the list is in a cluster of the request.
func (l List) InCluster() bool {
	return len(l.Path) > 1 && l.Path[0].Name() == "context" && l.Path[1].Name() == "cluster"
}

// Asks reports whether the request has a field.
func (l List) Asks(field protoreflect.Name) bool {
	return l.Path[0].ContainingMessage().Fields().ByName(field) != nil
}

// Levels are the positions in the path that are lists or maps.
func (l List) Levels() (out []int) {
	for i, f := range l.Path {
		if f.IsList() || f.IsMap() {
			out = append(out, i)
		}
	}
	return out
}

// Most returns how many elements the list at a level may have, at most n.
func (l List) Most(level, n int) int {
	if limit := count.Limit(l.Path[level]); limit > 0 {
		return min(n, limit)
	}
	return n
}

// Encode encodes a request that has the list, with n elements at a level and one at each other, and nothing in the last ones.
func (l List) Encode(level, n int) []byte {
	var inner []byte
	for i, f := range slices.Backward(l.Path) {
		one := element(f, inner)
		if i == level {
			one = slices.Repeat(one, n)
		}
		inner = one
	}
	return inner
}

// Fill encodes a request with as many elements at a level as bytes have room for.
func (l List) Fill(level, bytes int) []byte {
	return l.Encode(level, max(1, bytes/len(element(l.Path[level], List{l.Method, l.Path[level:]}.value()))))
}

// value is the value of one element of the first list in the path.
func (l List) value() (inner []byte) {
	for i := len(l.Path) - 1; i > 0; i-- {
		inner = element(l.Path[i], inner)
	}
	return inner
}

func element(f protoreflect.FieldDescriptor, value []byte) []byte {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.StringKind, protoreflect.BytesKind:
		return protowire.AppendBytes(protowire.AppendTag(nil, f.Number(), protowire.BytesType), value)
	default:
		return protowire.AppendVarint(protowire.AppendTag(nil, f.Number(), protowire.VarintType), 0)
	}
}
