package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/bounded"
)

// addYAML decodes a document. Parsing YAML takes by far the most time, and many times the text's size in memory, so the items of
// a long list are parsed in groups.
func addYAML(out *pipeline, at string, doc []byte) {
	before := len(out.parts)
	if around, items, ok := splitYAML(doc); ok && addYAMLItems(out, at, around, items) {
		return
	}
	out.forget(before)
	out.add(func(d *decoder) []found {
		raw, err := toJSON(doc)
		switch {
		case err != nil:
			return []found{{at: at, err: err}}
		case string(raw) == "null":
			return nil
		}
		return d.value(nil, at, raw, metav1.TypeMeta{}, 0)
	})
}

// toJSON parses one or a few objects in YAML.
func toJSON(text []byte) ([]byte, error) {
	if len(text) > maximumObject+batch {
		return nil, errTooLarge
	}
	return bounded.YAMLToJSON(text)
}

// yamlItems is consecutive items of a list. They parse as a sequence unless an alias refers to an item outside of them.
type yamlItems struct {
	text  []byte
	first int // the index of its first item
	n     int
}

// splitYAML splits a list into groups of items and the text around them. The items begin at the beginning of a line, as kubectl
// prints them, or are indented, as other programs print them. It guesses: the caller checks the number of items of each group.
func splitYAML(doc []byte) (around []byte, groups []yamlItems, ok bool) {
	const key = "items:\n"
	if len(doc) < batch {
		return nil, nil, false
	}
	at := bytes.Index(doc, []byte("\n"+key)) + 1
	if at == 0 && !bytes.HasPrefix(doc, []byte(key)) {
		return nil, nil, false
	}
	around = append(around, doc[:at]...)
	rest := doc[at+len(key):]
	index, indent := 0, spaces(rest)
	for len(rest) > 0 {
		end, n := sequence(rest, indent)
		if n == 0 {
			break
		}
		groups = append(groups, yamlItems{text: rest[:end], first: index, n: n})
		index += n
		rest = rest[end:]
	}
	around = append(append(around, "items: []\n"...), rest...)
	return around, groups, len(groups) > 0
}

// spaces is the number of leading spaces.
func spaces(text []byte) int { return len(text) - len(bytes.TrimLeft(text, " ")) }

// sequence returns the length and the number of a text's leading items, up to the size of one task.
func sequence(text []byte, indent int) (end, n int) {
	for end < len(text) {
		switch start := end + spaces(text[end:]); {
		case start == end+indent && bytes.HasPrefix(text[start:], []byte("- ")):
			if end >= batch {
				return end, n
			}
			n++
		case start <= end+indent && start < len(text) && text[start] != '\n':
			return end, n
		}
		line := bytes.IndexByte(text[end:], '\n')
		if line < 0 {
			return len(text), n
		}
		end += line + 1
	}
	return end, n
}

// addYAMLItems decodes a list. It reports whether the result equals decoding the document as a whole.
func addYAMLItems(out *pipeline, at string, around []byte, groups []yamlItems) bool {
	raw, err := toJSON(around)
	if err != nil {
		return false
	}
	h, err := headOf(raw)
	implied, isList := itemType(h.TypeMeta)
	if err != nil || !isList || string(h.Items) != "[]" {
		return false
	}
	before := len(out.parts)
	for _, g := range groups {
		out.add(func(d *decoder) []found {
			items, err := g.parse()
			if err != nil {
				return []found{{at: at, err: err, garbled: true}}
			}
			var out []found
			for i, item := range items {
				out = d.value(out, fmt.Sprintf("%s: items[%d]", at, g.first+i), item, implied, 1)
			}
			return out
		})
	}
	return !garbled(out.since(before))
}

func (g *yamlItems) parse() ([]json.RawMessage, error) {
	raw, err := toJSON(g.text)
	if err != nil {
		return nil, err
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, err
	}
	if len(items) != g.n {
		return nil, errors.New("the items are not where they seem to be")
	}
	return items, nil
}
