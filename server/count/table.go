// Package count counts the elements of an encoded request and estimates their decoded size, before anything is decoded.
//
// Two bytes of a request can be an empty message, which takes hundreds of bytes once it is decoded: no multiple of a request's size
// bounds its memory. A Table has, for each message type that a request can contain, the weight of each field. Tables are made from the
// descriptors of the contract, so that a new field is counted without a change here. Limits are the contract's annotations.
//
// Counting is one pass over the bytes. It allocates nothing, skips text, and reads only numbers that are lengths.
package count

import (
	"fmt"
	"reflect"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// The weights of elements, in bytes. Lists grow by copying, and are decoded to messages first and to the engine's values afterwards, so
// what an element takes counts twice. TestEveryListIsCounted in package server measures all of them.
const (
	ofText          = 128
	ofClustersText  = 240
	ofEntry         = 2 * (16 + 16 + 24) // of a map
	ofClustersEntry = 64
	ofNumber        = 2 * 8
	ofMap           = 400 // with the first entry, as a map has room for eight
	ofPlace         = 64  // a message, beside its fields: its place in a growing list, and what allocators round up
)

// many is the number of elements of one list from which on the second weight applies: elements of shorter lists are read into memory
// that is reused, and errors are searched one node at a time.
const many = 1024

// weights lists messages in lists whose decoded size is more than twice the size of the message.
var weights = map[protoreflect.FullName][2]int32{
	"stowage.v1.Pod":                {400, 1900},
	"stowage.v1.PendingPods":        {560, 560},
	"stowage.v1.PodGroup":           {800, 800},
	"stowage.v1.NodeTemplate":       {450, 450},
	"stowage.v1.IndexedPodTemplate": {450, 450},
	"stowage.v1.IndexedNodeClass":   {450, 450},
	"stowage.v1.Scenario":           {1000, 1000},
}

// clusterWeights are the weights of a cluster, which is decoded to the engine's values without a message in between. They cover the
// values, their compiled form and the canonical form.
var clusterWeights = map[protoreflect.FullName][2]int32{
	"stowage.v1.Node":                {560, 560},
	"stowage.v1.Pod":                 {40, 1900},
	"stowage.v1.PodCount":            {16, 300},
	"stowage.v1.PodTemplate":         {1100, 1100},
	"stowage.v1.NodeClass":           {600, 600},
	"stowage.v1.Namespace":           {700, 700},
	"stowage.v1.WorkloadSelector":    {700, 700},
	"stowage.v1.PodDisruptionBudget": {700, 700},
	"stowage.v1.PodGroup":            {700, 700},
}

type kind uint8

const (
	unread  kind = iota // an unknown field, or one whose value takes no more than its bytes
	text                // an element of a list of strings or bytes
	number              // a list of numbers, packed or not
	entry               // an entry of a map
	message             // a message, in a list or not
)

// field is a field of a message.
type field struct {
	kind kind
	// counter is the list's number among the lists of its message, -1 for no list.
	counter int8
	limit   int32 // of elements, 0 for none
	first   int32 // what the first element takes in addition
	weight  [2]int32
	inner   *table // of a message
	name    string
}

// maxLists, a power of 2, bounds the lists of a message, and maxDepth the messages around one. Descriptors with more are not compiled.
const maxLists, maxDepth = 64, 24

// table is the fields of a message by their numbers.
type table struct {
	fields []field
	// cluster is whether the message is a cluster.
	cluster bool
	// flat is whether no message, list or map is in the message: then only its size matters.
	flat bool
}

// Table describes a type of requests.
type Table struct{ root *table }

// Of returns the table of a message's type. It panics if the contract has more lists or depth than tables have, which a test would find.
func Of(m proto.Message) *Table {
	c := compiler{made: map[key]*table{}}
	return &Table{c.table(m.ProtoReflect().Descriptor(), false, 0)}
}

type key struct {
	name      protoreflect.FullName
	inCluster bool
}

type compiler struct{ made map[key]*table }

var clusterName = (&stowagev1.Cluster{}).ProtoReflect().Descriptor().FullName()

func (c *compiler) table(d protoreflect.MessageDescriptor, inCluster bool, depth int) *table {
	if depth == maxDepth {
		panic(fmt.Sprintf("%s is too deep", d.FullName()))
	}
	inCluster = inCluster || d.FullName() == clusterName
	k := key{d.FullName(), inCluster}
	if t := c.made[k]; t != nil {
		return t
	}
	t := &table{flat: true, cluster: d.FullName() == clusterName}
	lists := int8(0)
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		made := c.field(f, inCluster, depth)
		if f.IsList() || f.IsMap() {
			made.counter = lists
			lists++
		}
		if made.kind != unread {
			t.flat = false
		}
		for len(t.fields) <= int(f.Number()) {
			t.fields = append(t.fields, field{counter: -1})
		}
		t.fields[f.Number()] = made
	}
	if lists > maxLists {
		panic(fmt.Sprintf("%s has too many lists", d.FullName()))
	}
	c.made[k] = t
	return t
}

func (c *compiler) field(f protoreflect.FieldDescriptor, inCluster bool, depth int) field {
	out := field{counter: -1, limit: limitOf(f), name: string(f.Name())}
	ofList, ofText, ofEntry := weights, int32(ofText), int32(ofEntry)
	if inCluster {
		ofList, ofText, ofEntry = clusterWeights, ofClustersText, ofClustersEntry
	}
	switch {
	case f.IsMap():
		out.kind, out.weight = entry, [2]int32{ofEntry, ofEntry}
		if !inCluster {
			out.first = ofMap
		}
	case f.Message() != nil:
		out.kind, out.inner = message, c.table(f.Message(), inCluster, depth+1)
		w, ok := ofList[f.Message().FullName()]
		if !f.IsList() || !ok {
			w[0] = 2*sizeOf(f.Message()) + ofPlace
			w[1] = w[0]
		}
		out.weight = w
	case f.IsList() && (f.Kind() == protoreflect.StringKind || f.Kind() == protoreflect.BytesKind):
		out.kind, out.weight = text, [2]int32{ofText, ofText}
	case f.IsList():
		out.kind, out.weight = number, [2]int32{ofNumber, ofNumber}
	}
	return out
}

// sizeOf returns the size of a generated message.
func sizeOf(d protoreflect.MessageDescriptor) int32 {
	t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		panic(err)
	}
	return int32(reflect.TypeOf(t.Zero().Interface()).Elem().Size())
}

// limitOf returns the limit that the contract's annotations set for a list or a map, 0 for none.
func limitOf(f protoreflect.FieldDescriptor) int32 {
	rules, _ := proto.GetExtension(f.Options(), validate.E_Field).(*validate.FieldRules)
	switch {
	case f.IsMap():
		return int32(rules.GetMap().GetMaxPairs())
	case f.IsList():
		return int32(rules.GetRepeated().GetMaxItems())
	}
	return 0
}

// Limit returns the limit that the contract's annotations set for a list or a map, 0 for none.
func Limit(f protoreflect.FieldDescriptor) int { return int(limitOf(f)) }
