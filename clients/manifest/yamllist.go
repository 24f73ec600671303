package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// addYAML decodes a document. Parsing YAML takes by far the most time, so the items of a long list are parsed in groups.
func addYAML(out *pipeline, at string, doc []byte) {
	before := len(out.parts)
	if around, items, ok := splitYAML(doc); ok && addYAMLItems(out, at, around, items) {
		return
	}
	out.forget(before)
	out.add(func(d *decoder) []found {
		raw, err := yaml.YAMLToJSONStrict(doc)
		switch {
		case err != nil:
			return []found{{at: at, err: err}}
		case string(raw) == "null":
			return nil
		}
		return d.value(nil, at, raw, metav1.TypeMeta{}, 0)
	})
}

// yamlItems is consecutive items of a list: a sequence by itself, unless one of them has an alias of another one.
type yamlItems struct {
	text  []byte
	first int // the index of its first item
	n     int
}

// splitYAML splits a list as kubectl prints it, whose items begin at the beginning of a line, into groups of items and what is
// around them. It is a guess: the groups have to have as many items as it says.
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
	index := 0
	for len(rest) > 0 {
		end, n := sequence(rest)
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

// sequence returns the length and the number of the items that a text begins with, as many as a task decodes.
func sequence(text []byte) (end, n int) {
	for end < len(text) {
		switch {
		case bytes.HasPrefix(text[end:], []byte("- ")):
			if end >= batch {
				return end, n
			}
			n++
		case text[end] != ' ' && text[end] != '\n':
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

// addYAMLItems decodes a list. It reports whether that is what the whole document would give.
func addYAMLItems(out *pipeline, at string, around []byte, groups []yamlItems) bool {
	raw, err := yaml.YAMLToJSONStrict(around)
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
	raw, err := yaml.YAMLToJSONStrict(g.text)
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
