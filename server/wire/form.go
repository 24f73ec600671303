package wire

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// The fields that a request's form is made of: those of every request that has a pod, of DecisionContext, Pod and
// SnapshotReference.
const (
	contextField  = 1
	podField      = 2
	snapshotField = 2
	podNameField  = 1
	addressField  = 1
)

// Form splits an encoded request about a snapshot into the snapshot's address, the pod's name and its form: all the rest.
// Requests of one form about one snapshot get the same answer, whatever the names of the pods. It is not ok if the request
// has anything but an address for a snapshot, or if a message of it comes in several parts.
func Form(request []byte) (address, name string, form []byte, ok bool) {
	form = make([]byte, 0, len(request))
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
			if address, rest, ok = contextForm(value(whole)); !ok {
				return "", "", nil, false
			}
			form = protowire.AppendTag(form, contextField, protowire.BytesType)
			form = protowire.AppendBytes(form, rest)
		case kind == protowire.BytesType && field == podField:
			pods++
			var rest []byte
			if name, rest, ok = podForm(value(whole)); !ok {
				return "", "", nil, false
			}
			form = protowire.AppendTag(form, podField, protowire.BytesType)
			form = protowire.AppendBytes(form, rest)
		default:
			form = append(form, whole...)
		}
	}
	return address, name, form, contexts == 1 && pods == 1
}

// contextForm splits a DecisionContext into the snapshot's address and the rest.
func contextForm(context []byte) (address string, rest []byte, ok bool) {
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

// podForm splits a Pod into its name, if it begins with that, and the rest.
func podForm(pod []byte) (name string, rest []byte, ok bool) {
	field, kind, n := protowire.ConsumeField(pod)
	if n <= 0 || field != podNameField || kind != protowire.BytesType {
		return "", pod, true
	}
	name = string(value(pod[:n]))
	return name, pod[n:], utf8.ValidString(name)
}

// value is the value of a field of bytes.
func value(field []byte) []byte {
	_, _, n := protowire.ConsumeTag(field)
	v, _ := protowire.ConsumeBytes(field[n:])
	return v
}
