//go:build !js

package cli

import (
	"io"
	"strings"
	"testing"
)

// TestEveryCommandHasExamplesThatParse holds that the grammar accepts the examples of every command, which its help begins with.
func TestEveryCommandHasExamplesThatParse(t *testing.T) {
	parser, err := newParser(name, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commandsOf(parser.Model) {
		for _, example := range examplesOf(parser.Model, c) {
			line, _, _ := strings.Cut(example, " > ")
			words := strings.Fields(line)
			if len(words) == 0 || words[0] != c.Name {
				t.Errorf("%s: %q is an example of another command", c.Name, example)
				continue
			}
			if _, err := parser.Parse(words); err != nil {
				t.Errorf("%s: %q: %v", c.Name, example, err)
			}
		}
	}
}

// TestHelpPrintsTheCommandsOwnFlagsFirst holds that the help of every command begins with an example, and that shared flags follow
// its own.
func TestHelpPrintsTheCommandsOwnFlagsFirst(t *testing.T) {
	parser, err := newParser(name, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commandsOf(parser.Model) {
		var out strings.Builder
		if code := Run(t.Context(), []string{"help", c.Name}, nil, &out, &out); code != 0 {
			t.Errorf("%s: exit %d", c.Name, code)
		}
		text := out.String()
		if !strings.HasPrefix(text, "Example") {
			t.Errorf("%s: the help begins with %.20q", c.Name, text)
		}
		for _, f := range c.Flags {
			own, shared := f.Group == nil, strings.Index(text, "Input flags:")
			if at := strings.Index(text, "--"+f.Name); own && (at < 0 || shared >= 0 && at > shared) {
				t.Errorf("%s: --%s does not come before the shared flags", c.Name, f.Name)
			}
		}
	}
}
