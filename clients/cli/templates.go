//go:build !js

package cli

import (
	"io"
	"text/template"

	"k8s.io/client-go/util/jsonpath"
)

// parse parses a template.
func (q *question) parse(name, text string) error {
	if name == asJSONPath {
		path := jsonpath.New("output").AllowMissingKeys(true)
		if err := path.Parse(text); err != nil {
			return err
		}
		q.execute = path.Execute
		return nil
	}
	t, err := template.New("output").Parse(text)
	if err != nil {
		return err
	}
	q.execute = func(w io.Writer, data any) error { return t.Execute(w, data) }
	return nil
}
