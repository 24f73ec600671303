package placement

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/count"
)

// refused returns the fields that a method refuses in an encoded request, with their descriptions.
func (h handlers) refused(t *testing.T, method string, raw []byte) (fields []string) {
	t.Helper()
	for _, d := range status.Convert(h[method](t.Context(), raw)).Details() {
		if bad, ok := d.(*errdetails.BadRequest); ok {
			for _, v := range bad.FieldViolations {
				fields = append(fields, v.Field+" "+v.Description)
			}
		}
	}
	return fields
}

// TestLongListsAreReportedWithOthers: a list that is too long is one of a request's problems, unless the request is large.
func TestLongListsAreReportedWithOthers(t *testing.T) {
	all := handlers{}
	Register(all, New(1<<20, nil))
	in := &stowagev1.PreemptRequest{
		Context: &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Cluster{Cluster: &stowagev1.Cluster{
				Nodes: []*stowagev1.Node{{Name: "a", PodCounts: []*stowagev1.PodCount{{}}}},
			}},
			Profile: &stowagev1.Profile{DisabledPodGroupPostFilters: make([]stowagev1.PostFilter, 3)},
		},
		Pod: &stowagev1.Pod{},
	}
	raw, err := proto.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	long := "context.profile.disabled_pod_group_post_filters has 3 entries, at most 2 are allowed"
	got := all.refused(t, "Preempt", raw)
	if !slices.Contains(got, long) || !slices.Contains(got, "context.cluster.nodes[0].pod_counts[0].count is 0, at least 1 is required") {
		t.Errorf("refused are %q", got)
	}
	in.Context.GetCluster().Namespaces = []*stowagev1.Namespace{{Name: strings.Repeat("a", smallBytes)}}
	if raw, err = proto.Marshal(in); err != nil {
		t.Fatal(err)
	}
	if got := all.refused(t, "Preempt", raw); !slices.Equal(got, []string{long}) {
		t.Errorf("of a large request are refused %q", got)
	}
}

// TestEveryLongListIsReported: counting lets small requests pass with lists that are too long. What decodes them refuses each.
func TestEveryLongListIsReported(t *testing.T) {
	all, lists := handlers{}, 0
	Register(all, New(1<<20, nil))
	for method, in := range map[string]proto.Message{
		"Filter": &stowagev1.FilterRequest{}, "Score": &stowagev1.ScoreRequest{}, "Place": &stowagev1.PlaceRequest{},
		"Preempt": &stowagev1.PreemptRequest{}, "ScaleDown": &stowagev1.ScaleDownRequest{}, "Fit": &stowagev1.FitRequest{},
		"Provision": &stowagev1.ProvisionRequest{}, "Consolidate": &stowagev1.ConsolidateRequest{}, "Drain": &stowagev1.DrainRequest{},
		"WhatIf": &stowagev1.WhatIfRequest{}, "PlaceStream": &stowagev1.PlaceStreamRequest{},
	} {
		var path []protoreflect.FieldDescriptor
		var walk func(of protoreflect.MessageDescriptor)
		walk = func(of protoreflect.MessageDescriptor) {
			for i := range of.Fields().Len() {
				f := of.Fields().Get(i)
				if f.Name() == "snapshot" { // which would have to be there
					continue
				}
				path = append(path, f)
				if f.IsList() && count.Limit(f) > 0 && count.Limit(f) <= smallBytes/16 {
					lists++
					all.checkLongList(t, method, in.ProtoReflect().New(), path)
				}
				if f.Message() != nil && !f.IsMap() && len(path) < 12 && !slices.ContainsFunc(path[:len(path)-1],
					func(before protoreflect.FieldDescriptor) bool { return before.Message() == f.Message() }) {
					walk(f.Message())
				}
				path = path[:len(path)-1]
			}
		}
		walk(in.ProtoReflect().Descriptor())
	}
	if lists < 100 {
		t.Errorf("only %d lists", lists)
	}
}

// checkLongList asks with one element too many in the list at a path.
func (h handlers) checkLongList(t *testing.T, method string, in protoreflect.Message, path []protoreflect.FieldDescriptor) {
	t.Helper()
	m := in
	if f := in.Descriptor().Fields().ByName("context"); f != nil {
		at := m.Mutable(f).Message()
		at.Mutable(at.Descriptor().Fields().ByName("cluster"))
	}
	for _, f := range path[:len(path)-1] {
		if f.IsList() {
			m = m.Mutable(f).List().AppendMutable().Message()
		} else {
			m = m.Mutable(f).Message()
		}
		switch m := m.Interface().(type) { // what else would be refused first
		case *stowagev1.Pod:
			m.Source = &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{}}
		case *stowagev1.DefaultSpread:
			m.Type = stowagev1.DefaultingType_DEFAULTING_TYPE_LIST
		}
	}
	last := path[len(path)-1]
	if strings.HasPrefix(string(last.FullName()), "stowage.v1.PodResourceStatus.") && path[len(path)-3].Name() == "pod" {
		return // read for pods of nodes only
	}
	list := m.Mutable(last).List()
	for range count.Limit(last) + 1 {
		list.Append(list.NewElement())
	}
	raw, err := proto.Marshal(in.Interface())
	if err != nil {
		t.Fatal(err)
	}
	got := h.refused(t, method, raw)
	if !slices.ContainsFunc(got, func(v string) bool {
		return strings.HasSuffix(strings.Split(v, " ")[0], string(last.Name())) && strings.Contains(v, "entries")
	}) {
		var names []string
		for _, f := range path {
			names = append(names, string(f.Name()))
		}
		t.Errorf("%s, %s: refused are %.100q", method, strings.Join(names, "."), got)
	}
}
