package decode_test

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
)

// skippedFields are the fields that the decoder does not read in place.
var skippedFields = regexp.MustCompile(`^queue\[\d+\]\.pod\.resource_status\.`)

// covers reports whether two paths are of one field, of a list and an element of it, or of a map and an entry. The decoder
// shortens long keys.
func covers(a, b string) bool {
	if start, ok := strings.CutSuffix(a, `"...]`); ok {
		return strings.HasPrefix(b, start)
	}
	return a == b || strings.HasPrefix(a, b+"[") || strings.HasPrefix(b, a+"[")
}

// messageOf is the path of the message that has a field.
func messageOf(field string) string { return field[:max(strings.LastIndexByte(field, '.'), 0)] }

// The contract carries annotations by which callers may check their requests. They are not evaluated when serving,
// because evaluation walks the cluster (21 ms for 5,000 nodes) and would report its findings apart from the others.
// Instead, the decoder must refuse every field that they refuse.
func checkAnnotations(t interface {
	Helper()
	Fatal(...any)
	Errorf(string, ...any)
}, v protovalidate.Validator, r *stowagev1.PlaceRequest) {
	t.Helper()
	err := v.Validate(r)
	if err == nil {
		return
	}
	var refused *protovalidate.ValidationError
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	refused.Violations = slices.DeleteFunc(refused.Violations, func(v *protovalidate.Violation) bool {
		return skippedFields.MatchString(protovalidate.FieldPathString(v.Proto.GetField()))
	})
	if len(refused.Violations) == 0 {
		return
	}
	_, err = decode.Place(r)
	var e *decode.Error
	if !errors.As(err, &e) {
		t.Fatal("the annotations refuse what is decoded:", refused)
	}
	covered := func(field string) bool {
		return slices.ContainsFunc(e.Violations, func(v decode.Violation) bool {
			// The decoder does not read constraints of a type that it does not know, nor always the rest of an element that it
			// refuses for one of its fields.
			list, typed := strings.CutSuffix(v.Field, "default_spread.type")
			in := messageOf(v.Field)
			return covers(v.Field, field) || in == messageOf(field) || strings.HasSuffix(in, "]") && strings.HasPrefix(field, in+".") ||
				typed && strings.HasPrefix(field, list+"default_spread.constraints[")
		})
	}
	if e.Violations[len(e.Violations)-1].Field == "" {
		return // the report is cut off
	}
	for _, violation := range refused.Violations {
		if f := protovalidate.FieldPathString(violation.Proto.GetField()); !covered(f) {
			t.Errorf("the annotations refuse %s, the decoder does not: %v", f, e.Violations)
		}
	}
}

// acrossFields are the limits, by what the decoder says of them, that concern several fields.
var acrossFields = regexp.MustCompile(`pods in all|distinct|the group has \d+ pods|can be placed jointly|take over from|only`)

// limited is what the decoder says of a value beyond a limit.
var limited = regexp.MustCompile(`^(has|is) .*(at most|allowed|at least)|^is required$|empty (key|name)|^(key|name|value) of \d+ bytes`)

// TestEveryLimitAnnotated takes each request that is malformed as it goes beyond a limit of the decoder, and expects the
// annotations to refuse it as well; and looks for lists, maps and texts of requests that have no limit at all.
func TestEveryLimitAnnotated(t *testing.T) {
	v, err := protovalidate.New()
	if err != nil {
		t.Fatal(err)
	}
	limits := 0
	for i, test := range malformed {
		if testing.Short() && i%6 != 0 {
			continue
		}
		r := request()
		test.change(r)
		_, err := decode.Place(r)
		var e *decode.Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v", test.field, err)
		}
		if said := e.Violations[0].Description; !limited.MatchString(said) || acrossFields.MatchString(said) {
			continue
		}
		limits++
		var refused *protovalidate.ValidationError
		if err := v.Validate(r); !errors.As(err, &refused) {
			t.Errorf("the annotations let %v pass: %v", e.Violations[0], err)
			continue
		}
		if !slices.ContainsFunc(refused.Violations, func(v *protovalidate.Violation) bool {
			return covers(test.field, protovalidate.FieldPathString(v.Proto.GetField()))
		}) {
			t.Errorf("the annotations refuse %v for another reason: %v", e.Violations[0], refused)
		}
	}
	if limits < 60 && !testing.Short() {
		t.Errorf("only %d malformed requests go beyond a limit", limits)
	}
	seen := map[protoreflect.FullName]bool{}
	methods := stowagev1.File_stowage_v1_placement_service_proto.Services().Get(0).Methods()
	for i := range methods.Len() {
		unlimitedFields(t, methods.Get(i).Input(), seen)
	}
	unlimitedFields(t, (&stowagev1.WhatIfRequest{}).ProtoReflect().Descriptor(), seen)
	unlimitedFields(t, (&stowagev1.FitRequest{}).ProtoReflect().Descriptor(), seen)
	unlimitedFields(t, (&stowagev1.ProvisionRequest{}).ProtoReflect().Descriptor(), seen)
	unlimitedFields(t, (&stowagev1.ConsolidateRequest{}).ProtoReflect().Descriptor(), seen)
}

// unlimited are lists, maps and texts of requests without a limit of their own, and why.
var unlimited = map[protoreflect.FullName]string{
	"stowage.v1.CandidateNodes.indexes":                        "the request's size bounds it, and duplicates are allowed",
	"stowage.v1.CandidateNodes.names":                          "the same",
	"stowage.v1.Node.pod_counts":                               "the pods on all nodes are limited",
	"stowage.v1.Node.pods":                                     "the same",
	"stowage.v1.Node.nominated_pods":                           "the same",
	"stowage.v1.NodePodsDelta.removed_pod_counts":              "the node must have them",
	"stowage.v1.NodePodsDelta.removed_pods":                    "the node must have them",
	"stowage.v1.NodePodsDelta.pod_counts":                      "the pods on all nodes are limited",
	"stowage.v1.NodePodsDelta.pods":                            "the same",
	"stowage.v1.NodePodsDelta.removed_nominated_pods":          "the node must have them",
	"stowage.v1.NodePodsDelta.nominated_pods":                  "the pods on all nodes are limited",
	"stowage.v1.ClusterDelta.removed_nodes":                    "the cluster must have them",
	"stowage.v1.ClusterDelta.removed_namespaces":               "the cluster must have them",
	"stowage.v1.ClusterDelta.removed_workload_selectors":       "the cluster must have them",
	"stowage.v1.ClusterDelta.removed_pod_disruption_budgets":   "the cluster must have them",
	"stowage.v1.ClusterDelta.removed_pod_groups":               "the cluster must have them",
	"stowage.v1.ClusterDelta.removed_storage_classes":          "the cluster must have them",
	"stowage.v1.ClusterDelta.removed_csi_drivers":              "the cluster must have them",
	"stowage.v1.ClusterDelta.removed_csi_storage_capacities":   "the cluster must have them",
	"stowage.v1.ClusterDelta.removed_persistent_volumes":       "the cluster must have them",
	"stowage.v1.ClusterDelta.removed_persistent_volume_claims": "the cluster must have them",
	"stowage.v1.ClusterDelta.removed_device_types":             "the cluster must have them",
	"stowage.v1.ClusterDelta.removed_device_expressions":       "the cluster must have them",
	"stowage.v1.ClusterDelta.removed_device_classes":           "the cluster must have them",
	"stowage.v1.ClusterDelta.removed_resource_slices":          "the cluster must have them",
	"stowage.v1.ClusterDelta.removed_resource_claims":          "the cluster must have them",
	"stowage.v1.ClusterDelta.node_pods":                        "the cluster must have the nodes, each once",
	"stowage.v1.PendingPods.pod_group":                         "it names one of pod_groups",
	"stowage.v1.TopologySpreadConstraint.topology_key":         "no node has a longer one",
	"stowage.v1.ControllerReference.api_version":               "it is compared only",
	"stowage.v1.ControllerReference.kind":                      "the same",
	"stowage.v1.Container.name":                                "it is compared only",
	"stowage.v1.Container.image":                               "it is compared only",
	"stowage.v1.ImageVolumeSource.reference":                   "it is compared only",
	"stowage.v1.HostPort.host_ip":                              "it is compared only",
}

// elsewhere are fields of a PlaceRequest whose malformed values are in other tests than malformed, as
// TestListsOfAClusterAreBounded, or which are as a node's.
var elsewhere = regexp.MustCompile(`^stowage\.v1\.(ClusterDelta\.|Indexed|NodePodsDelta\.|NamespacedName\.|WorkloadSelectorName\.|` +
	`NodeClass\.|Cluster\.[a-z_]+$|SnapshotReference\.)`)

// TestEveryAnnotatedFieldIsMalformedOnce: whatever the annotations demand of a field, a request that breaks it is among malformed.
func TestEveryAnnotatedFieldIsMalformedOnce(t *testing.T) {
	root := (&stowagev1.PlaceRequest{}).ProtoReflect().Descriptor()
	broken := map[protoreflect.FullName]bool{}
	for i := range malformed {
		in := root
		parts := strings.Split(keys.ReplaceAllString(malformed[i].field, ""), ".")
		for j, part := range parts {
			f := in.Fields().ByName(protoreflect.Name(part))
			if f == nil && in.Oneofs().ByName(protoreflect.Name(part)) != nil {
				break
			}
			if f == nil {
				t.Fatalf("%s: no field %s", malformed[i].field, part)
			}
			if j == len(parts)-1 {
				broken[f.FullName()] = true
			}
			in = f.Message()
		}
	}
	seen := map[protoreflect.FullName]bool{}
	annotated := 0
	var walk func(protoreflect.MessageDescriptor)
	walk = func(m protoreflect.MessageDescriptor) {
		if seen[m.FullName()] || m.ParentFile().Package() != root.ParentFile().Package() {
			return
		}
		seen[m.FullName()] = true
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			rules, err := protovalidate.ResolveFieldRules(f)
			if err != nil {
				t.Fatal(err)
			}
			if rules != nil && !elsewhere.MatchString(string(f.FullName())) {
				if annotated++; !broken[f.FullName()] {
					t.Errorf("%s: no malformed request breaks %v", f.FullName(), rules)
				}
			}
			if f.Message() != nil && !f.IsMap() {
				walk(f.Message())
			}
		}
	}
	walk(root)
	if annotated < 100 {
		t.Errorf("only %d fields have annotations", annotated)
	}
}

// keys are indexes and keys in the path of a field, also a shortened one.
var keys = regexp.MustCompile(`\[("[^"]*"(\.\.\.)?|[^\]"]*)\]`)

// unlimitedFields reports the fields of a message, and of those in it, that have no limit and no reason for that.
func unlimitedFields(t *testing.T, m protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) {
	t.Helper()
	if seen[m.FullName()] {
		return
	}
	seen[m.FullName()] = true
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		rules, err := protovalidate.ResolveFieldRules(f)
		if err != nil {
			t.Fatal(err)
		}
		bounded := true
		switch {
		case f.IsMap():
			bounded = rules.GetMap().HasMaxPairs()
		case f.IsList():
			bounded = rules.GetRepeated().HasMaxItems()
		case f.Kind() == protoreflect.StringKind:
			s := rules.GetString()
			bounded = s.HasMaxBytes() || s.HasPattern() || len(s.GetIn()) > 0
		}
		if _, excused := unlimited[f.FullName()]; bounded == excused {
			t.Errorf("%s: has a limit: %v, has a reason not to: %v", f.FullName(), bounded, excused)
		}
		if f.Message() != nil && !f.IsMap() {
			unlimitedFields(t, f.Message(), seen)
		}
	}
}

func TestAnnotationsOnRandomRequests(t *testing.T) {
	v, err := protovalidate.New()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		r := request()
		part := rapid.SampledFrom([]proto.Message{
			cluster(r).Nodes[1], cluster(r).Nodes[2], cluster(r).Namespaces[0], cluster(r).WorkloadSelectors[0],
			cluster(r).Nodes[0].Pods[0], cluster(r).Nodes[0].Pods[1], cluster(r).PodDisruptionBudgets[0], spec(r),
			spec(r).Containers[0], spec(r).Tolerations[1], spec(r).TopologySpreadConstraints[0], spec(r).Affinity,
			r.Queue[1], r.PodGroups[0], r.Context.Profile.AddedAffinity,
		}).Draw(t, "part")
		fill(t, part.ProtoReflect(), rapid.IntRange(0, 3).Draw(t, "depth"))
		checkAnnotations(t, v, r)
	})
}

func TestAnnotationsOnRandomProfiles(t *testing.T) {
	v, err := protovalidate.New()
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Validate(request()); err != nil {
		t.Fatalf("the annotations refuse the sound request: %v", err)
	}
	rapid.Check(t, func(t *rapid.T) {
		r := request()
		if rapid.Bool().Draw(t, "no cluster") {
			r.Context.Base = nil
		}
		r.Context.Profile.AddedAffinity = nil // has no annotations, and its problems crowd the others out
		fill(t, r.GetContext().GetProfile().ProtoReflect(), 2)
		checkAnnotations(t, v, r)
	})
}

func TestAnnotationsOnLongLists(t *testing.T) {
	v, err := protovalidate.New()
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(p *stowagev1.Profile, n int){
		"plugin_weights": func(p *stowagev1.Profile, n int) { p.PluginWeights = make([]*stowagev1.PluginWeight, n) },
		"resources": func(p *stowagev1.Profile, n int) {
			p.ScoringStrategy.Resources = make([]*stowagev1.ResourceWeight, n)
		},
		"shape": func(p *stowagev1.Profile, n int) {
			p.ScoringStrategy.Shape = make([]*stowagev1.UtilizationShapePoint, n)
		},
		"ignored": func(p *stowagev1.Profile, n int) {
			p.IgnoredResources = make([]string, n)
			for i := range n {
				p.IgnoredResources[i] = strconv.Itoa(i)
			}
		},
		"groups": func(p *stowagev1.Profile, n int) {
			p.IgnoredResourceGroups = make([]string, n)
			for i := range n {
				p.IgnoredResourceGroups[i] = strconv.Itoa(i)
			}
		},
		"balanced": func(p *stowagev1.Profile, n int) {
			p.BalancedAllocationResources = make([]string, n)
			for i := range n {
				p.BalancedAllocationResources[i] = strconv.Itoa(i)
			}
		},
		"disabled_filters": func(p *stowagev1.Profile, n int) {
			p.DisabledFilters = make([]stowagev1.Plugin, n)
		},
		"disabled_post_filters": func(p *stowagev1.Profile, n int) {
			p.DisabledPostFilters = make([]stowagev1.PostFilter, n)
		},
		"disabled_pod_group_post_filters": func(p *stowagev1.Profile, n int) {
			p.DisabledPodGroupPostFilters = make([]stowagev1.PostFilter, n)
		},
		"constraints": func(p *stowagev1.Profile, n int) {
			p.DefaultSpread.Constraints = make([]*stowagev1.TopologySpreadConstraint, n)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{64, 65, 101, 102, 1024, 1025} {
				r := request()
				change(r.GetContext().GetProfile(), n)
				checkAnnotations(t, v, r)
			}
		})
	}
}
