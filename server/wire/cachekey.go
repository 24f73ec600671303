package wire

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers that CacheKey interprets: of requests with a pod, DecisionContext, Pod and SnapshotReference.
const (
	contextField  = 1
	podField      = 2
	snapshotField = 2
	podNameField  = 1
	addressField  = 1
)

// CacheKey splits an encoded request with a snapshot into the snapshot's address, the pod's name and a cache key, which is the rest.
// Requests with equal addresses and keys have equal responses, whatever the pods' names. If pods are nominated to the snapshot's
// nodes, the names must be equal as well. CacheKey fails if the snapshot has a delta, or if the context, the snapshot or the pod
// occurs more than once.
func CacheKey(request []byte) (address, name string, key []byte, ok bool) {
	key = make([]byte, 0, len(request))
	contexts, pods := 0, 0
	for len(request) > 0 {
		field, kind, n := protowire.ConsumeField(request)
		if n < 0 {
			return "", "", nil, false
		}
		whole := request[:n]
		request = request[n:]
		switch {
		case kind == protowire.BytesType && field == contextField:
			contexts++
			var rest []byte
			if address, rest, ok = splitContext(value(whole)); !ok {
				return "", "", nil, false
			}
			key = protowire.AppendTag(key, contextField, protowire.BytesType)
			key = protowire.AppendBytes(key, rest)
		case kind == protowire.BytesType && field == podField:
			pods++
			var rest []byte
			if name, rest, ok = splitPod(value(whole)); !ok {
				return "", "", nil, false
			}
			key = protowire.AppendTag(key, podField, protowire.BytesType)
			key = protowire.AppendBytes(key, rest)
		default:
			key = append(key, whole...)
		}
	}
	return address, name, key, contexts == 1 && pods == 1
}

// splitContext splits a DecisionContext into the snapshot's address and the rest.
func splitContext(context []byte) (address string, rest []byte, ok bool) {
	for len(context) > 0 {
		field, kind, n := protowire.ConsumeField(context)
		if n < 0 {
			return "", nil, false
		}
		whole := context[:n]
		context = context[n:]
		if field != snapshotField || kind != protowire.BytesType {
			rest = append(rest, whole...)
			continue
		}
		inner := value(whole)
		field, kind, n = protowire.ConsumeField(inner)
		if address != "" || n < 0 || n != len(inner) || field != addressField || kind != protowire.BytesType {
			return "", nil, false
		}
		address = string(value(inner))
	}
	return address, rest, address != ""
}

// splitPod splits a Pod into its name and the rest. A name that is not the first field stays in the rest.
func splitPod(pod []byte) (name string, rest []byte, ok bool) {
	field, kind, n := protowire.ConsumeField(pod)
	if n <= 0 || field != podNameField || kind != protowire.BytesType {
		return "", pod, true
	}
	name = string(value(pod[:n]))
	return name, pod[n:], utf8.ValidString(name)
}

// value returns the value of a length-delimited field.
func value(field []byte) []byte {
	_, _, n := protowire.ConsumeTag(field)
	v, _ := protowire.ConsumeBytes(field[n:])
	return v
}
