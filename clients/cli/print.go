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

// printNamed prints an answer with a list of pods before its fields, unless the list is nil, and what was found in placement
// rules.
func (q *question) printNamed(w io.Writer, m proto.Message, pods []podPlacement) error {
	text, err := marshal(m, nil)
	if err == nil && q.findings != nil {
		text, err = withList(text, "findings", q.findings)
	}
	if err == nil && pods != nil {
		text, err = withList(text, "pods", pods)
	}
	if err != nil {
		return err
	}
	return q.printJSON(w, text)
}

// printJSON prints an answer that is encoded in JSON.
func (q *question) printJSON(w io.Writer, text []byte) error {
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
// so the result has to be formatted. pods is a list before the fields; nil for none.
func marshal(m proto.Message, pods []podPlacement) ([]byte, error) {
	text, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if err != nil || pods == nil {
		return text, err
	}
	return withList(text, "pods", pods)
}

func writeYAML(w io.Writer, text []byte) error {
	text, err := yaml.JSONToYAML(text)
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}
