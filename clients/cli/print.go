package cli

import (
	"bytes"
	"encoding/json"
	"io"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"
)

// printMessage prints an answer in JSON or YAML.
func (q *question) printMessage(w io.Writer, m proto.Message) error {
	return q.printNamed(w, m, nil)
}

// printNamed prints an answer with what names its pods before its fields, unless that is nil.
func (q *question) printNamed(w io.Writer, m proto.Message, by *named) error {
	text, err := marshal(m, by)
	if err != nil {
		return err
	}
	return q.printText(w, text)
}

// printValue prints an answer that is no message of the contract.
func (q *question) printValue(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return q.printText(w, text)
}

// printText prints JSON as the flags say.
func (q *question) printText(w io.Writer, text []byte) error {
	if q.Output == "yaml" {
		return writeYAML(w, text)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return err
	}
	out.WriteByte('\n')
	_, err := out.WriteTo(w)
	return err
}

// marshal encodes an answer in JSON with every scalar, list and map, also those that are 0 or empty: scripts then find each
// index in its place. Absent messages and optional fields are left out. protojson varies its white space from build to build,
// so the result has to be formatted.
func marshal(m proto.Message, by *named) ([]byte, error) {
	text, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if err != nil || by == nil {
		return text, err
	}
	before, err := json.Marshal(by)
	if err != nil {
		return nil, err
	}
	fields := bytes.TrimSpace(text)[1:] // every answer has a scalar, and so a field
	return append(append(bytes.TrimSuffix(before, []byte("}")), ','), fields...), nil
}

func writeYAML(w io.Writer, text []byte) error {
	text, err := yaml.JSONToYAML(text)
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}
