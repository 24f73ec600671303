package schema

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

// TestEveryRuleIsDocumented expects the rules of findings in the tables of the clients' README.
func TestEveryRuleIsDocumented(t *testing.T) {
	text, err := files.ReadFile(definitions)
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Defs map[string]struct {
			Enum []string `json:"enum"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	rules := all.Defs["review.Rule"].Enum
	if len(rules) < 30 {
		t.Errorf("the schema has the rules %v only", rules)
	}
	for _, rule := range rules {
		if !bytes.Contains(readme, []byte("`"+rule+"`")) {
			t.Errorf("no table of clients/README.md has `%s`", rule)
		}
	}
}
