package cli

import (
	"bytes"
	"encoding/json"
	"io"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"
)

// printMessage prints an answer in JSON or YAML. protojson varies its white space on purpose from build to build, so
// this is written anew.
func (q *question) printMessage(w io.Writer, m proto.Message) error {
	text, err := protojson.Marshal(m)
	if err != nil {
		return err
	}
	if q.Output == "yaml" {
		if text, err = yaml.JSONToYAML(text); err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return err
	}
	out.WriteByte('\n')
	_, err = out.WriteTo(w)
	return err
}
