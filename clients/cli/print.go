package cli

import (
	"bytes"
	"encoding/json"
	"io"

	"sigs.k8s.io/yaml"
)

// writePart writes a part of an answer as a line of JSON or a document of YAML.
func writePart(w io.Writer, text []byte, yaml bool) error {
	if yaml {
		if _, err := io.WriteString(w, "---\n"); err != nil {
			return err
		}
		return writeYAML(w, text)
	}
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil {
		return err
	}
	out.WriteByte('\n')
	_, err := out.WriteTo(w)
	return err
}

func writeYAML(w io.Writer, text []byte) error {
	text, err := yaml.JSONToYAML(text)
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}
