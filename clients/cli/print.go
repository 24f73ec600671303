package cli

import (
	"bytes"
	"encoding/json"
	"io"

	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/clients/quote"
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
	_, err := w.Write(quote.JSON(out.Bytes()))
	return err
}

// writeYAML writes JSON as YAML. Characters that YAML leaves as they are, and that change what a terminal shows, stay escaped: as JSON, which is
// YAML.
func writeYAML(w io.Writer, text []byte) error {
	if escaped := quote.JSON(text); len(escaped) > len(text) {
		_, err := w.Write(append(escaped, '\n'))
		return err
	}
	text, err := yaml.JSONToYAML(text)
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}
