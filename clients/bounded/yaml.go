package bounded

import (
	"bytes"
	"fmt"

	yamlnode "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// maximumExpanded bounds the text of YAML with its aliases expanded.
const maximumExpanded = 8 << 20

// YAMLToJSON is yaml.YAMLToJSONStrict with a bound on the expansion of aliases, for text whose length the caller has bounded. The
// library bounds the number of values in expanded aliases, not their length.
func YAMLToJSON(text []byte) ([]byte, error) {
	if HasAlias(text) {
		var document yamlnode.Node
		if err := yamlnode.Unmarshal(text, &document); err == nil && expanded(&document, map[*yamlnode.Node]int{}) > maximumExpanded {
			return nil, fmt.Errorf("aliases expand to more than %d bytes", maximumExpanded)
		}
	}
	return yaml.YAMLToJSONStrict(text)
}

// HasAlias reports whether a text may have anchors and aliases.
func HasAlias(text []byte) bool {
	if bytes.IndexByte(text, '&') < 0 {
		return false
	}
	for i, c := range text {
		if c == '*' && i+1 < len(text) && text[i+1] > ' ' && (i == 0 || bytes.IndexByte([]byte(" \t\r\n[{,:-?"), text[i-1]) >= 0) {
			return true
		}
	}
	return false
}

// expanded is the approximate length of a node in JSON, or a number above the bound.
func expanded(n *yamlnode.Node, known map[*yamlnode.Node]int) int {
	if n.Kind == yamlnode.AliasNode {
		n = n.Alias
	}
	if size, ok := known[n]; ok {
		return size
	}
	known[n] = maximumExpanded + 1 // an anchor that contains itself
	size := len(n.Value) + 4
	for _, child := range n.Content {
		size = min(size+expanded(child, known), maximumExpanded+1)
	}
	known[n] = size
	return size
}
