package wire

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// The fields that a request's form is made of; those of the snapshot and of the pod are in every request.
const (
	podField     = 2
	podNameField = 1
	addressField = 1
)

// Form splits a request about a snapshot, as it is encoded, into the snapshot's address, the pod's name and its form:
// all the rest. Requests of one form about one snapshot ask the same, whatever the pods are called. It is not ok if the
// request has anything but an address for a snapshot, or is not written the usual way.
func Form(request []byte, snapshotField protowire.Number) (address, name string, form []byte, ok bool) {
	form = make([]byte, 0, len(request))
	pods := 0
	for len(request) > 0 {
		field, kind, n := protowire.ConsumeField(request)
		if n < 0 {
			return "", "", nil, false
		}
		whole := request[:n]
		request = request[n:]
		switch {
		case kind == protowire.BytesType && field == snapshotField:
			if address != "" {
				return "", "", nil, false
			}
			inner := value(whole)
			field, kind, n := protowire.ConsumeField(inner)
			if n < 0 || n != len(inner) || field != addressField || kind != protowire.BytesType {
				return "", "", nil, false
			}
			address = string(value(inner))
		case kind == protowire.BytesType && field == podField:
			if pods++; pods > 1 {
				return "", "", nil, false
			}
			inner := value(whole)
			field, kind, n := protowire.ConsumeField(inner)
			if n > 0 && field == podNameField && kind == protowire.BytesType {
				name = string(value(inner[:n]))
				inner = inner[n:]
				if !utf8.ValidString(name) {
					return "", "", nil, false
				}
			}
			form = protowire.AppendTag(form, podField, protowire.BytesType)
			form = protowire.AppendBytes(form, inner)
		default:
			form = append(form, whole...)
		}
	}
	return address, name, form, address != "" && pods == 1
}

// value is the value of a field of bytes.
func value(field []byte) []byte {
	_, _, n := protowire.ConsumeTag(field)
	v, _ := protowire.ConsumeBytes(field[n:])
	return v
}
