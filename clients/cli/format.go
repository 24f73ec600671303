package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/quote"
)

// The values of --output.
const (
	table      = "table"
	wide       = "wide"
	asJSON     = "json"
	asYAML     = "yaml"
	asName     = "name"
	asHTML     = "html"
	asSVG      = "svg"
	asJSONPath = "jsonpath"
	asTemplate = "go-template"
)

// documented are the commands whose answers have pages. withNames are the commands whose answers have names.
var (
	documented = []string{"place", "explain", "drain", "fail", "what-if", "fit", "provision", "consolidate", "scale-down", "audit"}
	withNames  = append([]string{"filter", "score"}, documented...)
)

// format parses --output, and refuses what the command does not have.
func (q *question) format(command string) error {
	name, expression, given := strings.Cut(q.Output, "=")
	err := func() error {
		switch name {
		case asJSONPath, asTemplate:
			if !given {
				return fmt.Errorf("a template is missing: %s=TEMPLATE", name)
			}
			return q.parse(name, expression)
		case table, wide, asJSON, asYAML, asName, asHTML, asSVG:
			if given {
				return fmt.Errorf("%s takes no template", name)
			}
		default:
			return errors.New("must be one of table, wide, json, yaml, name, html, svg, jsonpath=TEMPLATE, go-template=TEMPLATE")
		}
		switch {
		case name == asName && !slices.Contains(withNames, command):
			return fmt.Errorf("only %s have it", strings.Join(withNames, ", "))
		case (name == asHTML || name == asSVG) && !slices.Contains(documented, command):
			return fmt.Errorf("only %s have it", strings.Join(documented, ", "))
		}
		return nil
	}()
	if err != nil {
		return fmt.Errorf("--output=%s: %w", q.Output, err)
	}
	if q.Output = name; name == wide {
		q.Output, q.Verbose = table, true
	}
	return nil
}

// drawn reports whether the answer is printed as names, a page or a picture.
func (q *question) drawn() bool { return slices.Contains([]string{asName, asHTML, asSVG}, q.Output) }

func printNames(w io.Writer, names []string) error {
	for _, name := range names {
		if _, err := fmt.Fprintln(w, quote.Line(name)); err != nil {
			return err
		}
	}
	return nil
}

// lined keeps each text in a value on its line: a template makes lines of its own. A patch has lines, in which YAML quotes text.
func lined(key string, value any) any {
	switch value := value.(type) {
	case string:
		if key != "patch" {
			return quote.Line(value)
		}
	case []any:
		for i := range value {
			value[i] = lined(key, value[i])
		}
	case map[string]any:
		for key := range value {
			value[key] = lined(key, value[key])
		}
	}
	return value
}

// fill executes the template. What it would write before an error is left out.
func (q *question) fill(w io.Writer, text []byte) error {
	var data any
	if err := json.Unmarshal(text, &data); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := q.execute(&out, lined("", data)); err != nil {
		return fmt.Errorf("--output=%s: %w", q.Output, err)
	}
	_, err := quote.Terminal(w, false).Write(out.Bytes())
	return err
}
