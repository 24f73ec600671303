package decode_test

import (
	"fmt"
	"slices"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// malformedDevices break each annotation of each field of one object of each list in turn, and of what a pod claims.
var malformedDevices = slices.Concat(
	breaking("context.cluster.device_types[1]", func(r *place) proto.Message { return cluster(r).DeviceTypes[1] }),
	breaking("context.cluster.device_expressions[1]", func(r *place) proto.Message { return cluster(r).DeviceExpressions[1] }),
	breaking("context.cluster.device_classes[1]", func(r *place) proto.Message { return cluster(r).DeviceClasses[1] }),
	breaking("context.cluster.resource_slices[1]", func(r *place) proto.Message { return cluster(r).ResourceSlices[1] }),
	breaking("context.cluster.resource_claims[0]", func(r *place) proto.Message { return cluster(r).ResourceClaims[0] }),
	breaking("context.cluster.pod_templates[0].spec.resource_claims[1]", func(r *place) proto.Message { return spec(r).ResourceClaims[1] }),
	breaking("context.cluster.nodes[0].pods[0].resource_claim_statuses[0]", func(r *place) proto.Message {
		return node(r, 0).Pods[0].ResourceClaimStatuses[0]
	}),
	[]malformation{
		{"context.cluster.resource_slices[1].counter_sets", "WRONG_COUNT", "at most 1000", func(r *place) {
			cluster(r).ResourceSlices[1].CounterSets = slices.Repeat(counters("die"), 1_001)
		}},
		{"context.cluster.pod_templates[0].spec.resource_claims", "WRONG_COUNT", "at most 1000", func(r *place) {
			spec(r).ResourceClaims = slices.Repeat(podResourceClaims(), 501)
		}},
		{"context.cluster.nodes[0].pods[0].resource_claim_statuses", "WRONG_COUNT", "at most 1000", func(r *place) {
			pod := node(r, 0).Pods[0]
			pod.ResourceClaimStatuses = slices.Repeat(pod.ResourceClaimStatuses, 501)
		}},
		{"context.cluster.pod_templates[0].spec.resource_claims[1].template.requests[1].first_available", "WRONG_COUNT", "at most 1000", func(r *place) {
			some := spec(r).ResourceClaims[1].Template.Requests[1]
			some.FirstAvailable = slices.Repeat(some.FirstAvailable, 501)
		}},
		{"context.cluster.pod_templates[0].spec.resource_claims[1].template.requests[1].first_available[0].name", "REQUIRED", "is required", func(r *place) {
			spec(r).ResourceClaims[1].Template.Requests[1].FirstAvailable[0].Name = ""
		}},
		{"context.cluster.device_types[1].capacities[1].policy.valid_values", "WRONG_COUNT", "at most 1000", func(r *place) {
			policy := cluster(r).DeviceTypes[1].Capacities[1].Policy
			policy.ValidValues = slices.Repeat(policy.ValidValues, 501)
		}},
		{"context.cluster.device_types[1].capacities[1].policy.valid_values[0].value", "OUT_OF_RANGE", "is -1", func(r *place) {
			cluster(r).DeviceTypes[1].Capacities[1].Policy.ValidValues[0].Value = -1
		}},
		duplicated("device_types", 0, "", func(c *stowagev1.Cluster) { c.DeviceTypes = append(c.DeviceTypes, c.DeviceTypes[0]) }),
		duplicated("device_expressions", 0, "", func(c *stowagev1.Cluster) {
			c.DeviceExpressions = append(c.DeviceExpressions, c.DeviceExpressions[0])
		}),
		duplicated("device_classes", 0, "", func(c *stowagev1.Cluster) { c.DeviceClasses = append(c.DeviceClasses, c.DeviceClasses[0]) }),
		duplicated("resource_slices", 0, "", func(c *stowagev1.Cluster) { c.ResourceSlices = append(c.ResourceSlices, c.ResourceSlices[0]) }),
		duplicated("resource_claims", 1, " per namespace", func(c *stowagev1.Cluster) {
			c.ResourceClaims = append(c.ResourceClaims, &stowagev1.ResourceClaim{Namespace: "default", Name: "shared"})
		}),
	},
)

func duplicated(list string, first int, scope string, change func(*stowagev1.Cluster)) malformation {
	return malformation{
		field: fmt.Sprintf("context.cluster.%s[2].name", list), reason: "DUPLICATE",
		description: fmt.Sprintf("duplicates context.cluster.%s[%d], names must be unique%s", list, first, scope),
		change:      func(r *place) { change(cluster(r)) },
	}
}

// breaking returns a malformation for each annotation of the fields of a message, and of the messages in it that are there.
func breaking(path string, of func(*place) proto.Message) (out []malformation) {
	in := of(request()).ProtoReflect()
	for i := range in.Descriptor().Fields().Len() {
		f := in.Descriptor().Fields().Get(i)
		at := path + "." + string(f.Name())
		add := func(at, reason, description string, change func(protoreflect.Message)) {
			out = append(out, malformation{at, reason, description, func(r *place) { change(of(r).ProtoReflect()) }})
		}
		rules := proto.GetExtension(f.Options(), validate.E_Field).(*validate.FieldRules)
		switch {
		case f.IsList():
			out = append(out, breakingList(at, f, in, of)...)
		case f.Message() != nil && in.Has(f) && f.Message().Name() != "NodeSelector":
			out = append(out, breaking(at, func(r *place) proto.Message { return of(r).ProtoReflect().Mutable(f).Message().Interface() })...)
		case f.Enum() != nil:
			add(at, "UNKNOWN_VALUE", "must be", func(m protoreflect.Message) { m.Set(f, protoreflect.ValueOfEnum(99)) })
		case rules.GetInt64().HasGte():
			least := rules.GetInt64().GetGte()
			add(at, "OUT_OF_RANGE", fmt.Sprintf("is %d, at least %d is required", least-1, least), func(m protoreflect.Message) {
				m.Set(f, protoreflect.ValueOfInt64(least-1))
			})
		}
		if text := rules.GetString(); text.HasMaxBytes() {
			add(at, "TOO_LONG", fmt.Sprintf("at most %d", text.GetMaxBytes()), func(m protoreflect.Message) {
				m.Set(f, protoreflect.ValueOfString(strings.Repeat("a", int(text.GetMaxBytes())+1)))
			})
			if text.GetMinLen() > 0 {
				add(at, "REQUIRED", "is required", func(m protoreflect.Message) { m.Clear(f) })
			}
		}
	}
	return out
}

// breakingList is breaking for a list: too long, and its first element broken.
func breakingList(at string, f protoreflect.FieldDescriptor, in protoreflect.Message, of func(*place) proto.Message) (out []malformation) {
	if in.Get(f).List().Len() == 0 {
		return nil
	}
	limits := proto.GetExtension(f.Options(), validate.E_Field).(*validate.FieldRules).GetRepeated()
	list := func(r *place) protoreflect.List { return of(r).ProtoReflect().Mutable(f).List() }
	out = append(out, malformation{at, "WRONG_COUNT", fmt.Sprintf("at most %d", limits.GetMaxItems()), func(r *place) {
		for l := list(r); l.Len() <= int(limits.GetMaxItems()); {
			l.Append(l.Get(0))
		}
	}})
	if f.Message() != nil {
		return append(out, breaking(at+"[0]", func(r *place) proto.Message { return list(r).Get(0).Message().Interface() })...)
	}
	text := limits.GetItems().GetString()
	return append(out,
		malformation{at + "[0]", "REQUIRED", "is empty", func(r *place) { list(r).Set(0, protoreflect.ValueOfString("")) }},
		malformation{at + "[0]", "TOO_LONG", fmt.Sprintf("at most %d", text.GetMaxBytes()), func(r *place) {
			list(r).Set(0, protoreflect.ValueOfString(strings.Repeat("a", int(text.GetMaxBytes())+1)))
		}},
	)
}
