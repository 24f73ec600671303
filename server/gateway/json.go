package gateway

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
)

// marshaler is grpc-gateway's for JSON, except for bodies.
type marshaler struct{ runtime.JSONPb }

// Marshal implements runtime.Marshaler. protojson has spaces that differ between builds.
func (m *marshaler) Marshal(v any) ([]byte, error) {
	text, err := m.JSONPb.Marshal(v)
	if err != nil {
		return nil, err
	}
	value := jsontext.Value(text)
	return value, value.Compact()
}

// NewDecoder implements runtime.Marshaler.
func (m *marshaler) NewDecoder(from io.Reader) runtime.Decoder {
	if b, ok := from.(*body); ok {
		return &decoder{body: b}
	}
	return m.JSONPb.NewDecoder(from)
}

// decoder decodes the messages of a body: one, or several for a method that receives a stream.
type decoder struct {
	body   *body
	values *jsontext.Decoder
	count  int
}

// errJSON is what grpc-gateway learns of an error, as it logs it: the error may have parts of a request.
var errJSON = errors.New("the body is no request")

// Decode implements runtime.Decoder.
func (d *decoder) Decode(v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return errJSON
	}
	text, at, err := d.next(m)
	if err != nil {
		return err
	}
	if err := protojson.Unmarshal(text, m); err != nil {
		d.body.call.invalid = invalid(text, err, m.ProtoReflect().Descriptor(), at)
		return errJSON
	}
	return nil
}

// next returns the text of the next message, and its path.
func (d *decoder) next(m proto.Message) (text []byte, at string, err error) {
	if m.ProtoReflect().Descriptor() != streamed {
		if len(bytes.TrimSpace(d.body.text)) == 0 {
			return nil, "", io.EOF
		}
		return d.body.text, "", nil
	}
	if d.values == nil {
		d.values = jsontext.NewDecoder(bytes.NewBuffer(d.body.text), jsontext.AllowDuplicateNames(true)) // which protojson refuses, with their path
	}
	at = "[" + strconv.Itoa(d.count) + "]"
	d.count++
	text, err = d.values.ReadValue()
	if err != nil && !errors.Is(err, io.EOF) {
		d.body.call.invalid = violation(at, stowagev1.ViolationReason_VIOLATION_REASON_MALFORMED, err.Error())
		return nil, "", errJSON
	}
	return text, at, err
}

// streamed is the only message of which a request may have several.
var streamed = (&stowagev1.PutSnapshotRequest{}).ProtoReflect().Descriptor()

// position is where protojson found an error.
var position = regexp.MustCompile(`\(line (\d+):(\d+)\):? ?`)

// invalid is INVALID_REQUEST for an error of protojson, with the path of the field. at is the path of the message.
func invalid(text []byte, err error, m protoreflect.MessageDescriptor, at string) error {
	said := err.Error()
	index := len(text) // where it ends too early
	if found := position.FindStringSubmatchIndex(said); found != nil {
		line, _ := strconv.Atoi(said[found[2]:found[3]])
		column, _ := strconv.Atoi(said[found[4]:found[5]])
		index, said = offset(text, line, column), said[found[1]:]
	}
	said = strings.TrimSpace(strings.TrimPrefix(said, "proto:"))
	path, reason := pathOf(pointerAt(text, index), m)
	switch {
	case at == "":
		at = path
	case path != "":
		at += "." + path
	}
	return violation(at, reason, said)
}

func violation(at string, reason stowagev1.ViolationReason, description string) error {
	return rpcerror.Invalid(&decode.Error{Violations: []decode.Violation{{Field: at, Reason: reason, Description: shortened(description)}}})
}

// shortened bounds a text that may have parts of a request: nothing counts the bytes of an error.
func shortened(text string) string {
	const longest = 200
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "..."
}

// offset returns the index of a line and a column in a text.
func offset(text []byte, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		at += bytes.IndexByte(text[at:], '\n') + 1
	}
	for ; column > 1 && at < len(text); column-- {
		_, n := utf8.DecodeRune(text[at:])
		at += n
	}
	return at
}

// pointerAt returns the JSON pointer of the token at an index.
func pointerAt(text []byte, at int) jsontext.Pointer {
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
	for {
		if _, err := d.ReadToken(); err != nil || d.InputOffset() > int64(at) {
			return d.StackPointer()
		}
	}
}

// pathOf returns the path of a field as the contract's errors have it, and why its value is none.
func pathOf(p jsontext.Pointer, m protoreflect.MessageDescriptor) (string, stowagev1.ViolationReason) {
	reason := stowagev1.ViolationReason_VIOLATION_REASON_MALFORMED
	var path strings.Builder
	var list, entry protoreflect.FieldDescriptor
	for token := range p.Tokens() {
		switch {
		case list != nil:
			path.WriteString("[" + token + "]")
			list = nil
			continue
		case entry != nil:
			path.WriteString("[" + strconv.Quote(shortened(token)) + "]")
			entry = nil
			continue
		case m == nil: // within a value that has no fields
			return path.String(), reason
		}
		f := m.Fields().ByJSONName(token)
		if f == nil {
			f = m.Fields().ByTextName(token)
		}
		if f == nil {
			return path.String(), stowagev1.ViolationReason_VIOLATION_REASON_UNKNOWN_FIELD
		}
		if path.Len() > 0 {
			path.WriteByte('.')
		}
		path.WriteString(string(f.Name()))
		m = f.Message()
		switch {
		case f.IsMap():
			entry, m = f, f.MapValue().Message()
		case f.IsList():
			list = f
		case f.Enum() != nil:
			reason = stowagev1.ViolationReason_VIOLATION_REASON_UNKNOWN_VALUE
		}
		if f.IsList() && f.Enum() != nil {
			reason = stowagev1.ViolationReason_VIOLATION_REASON_UNKNOWN_VALUE
		}
	}
	return path.String(), reason
}
