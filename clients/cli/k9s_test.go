package cli_test

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/clients/cli"
)

// TestK9sPlugins runs the commands of the plugin file of docs/k9s.md for a context that does not exist: nothing else is wrong with them.
func TestK9sPlugins(t *testing.T) {
	page, err := os.ReadFile("../../docs/k9s.md")
	must(t, err)
	_, text, _ := strings.Cut(string(page), "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	var file struct {
		Plugins map[string]struct {
			ShortCut, Description, Command string
			Scopes, Args                   []string
		}
	}
	must(t, yaml.UnmarshalStrict([]byte(strings.ReplaceAll(text, "    background: false\n", "")), &file))
	if len(file.Plugins) == 0 {
		t.Fatal("there are no plugins")
	}
	t.Setenv("KUBECONFIG", "/dev/null")
	for name, p := range file.Plugins {
		command, _, _ := strings.Cut(p.Args[1], " 2>&1")
		command = strings.NewReplacer("'", "", "$CONTEXT", "prod", "$NAMESPACE", "shop", "$NAME", "web").Replace(command)
		if p.ShortCut == "" || p.Description == "" || p.Command != "sh" || len(p.Scopes) == 0 || strings.Contains(command, "$") {
			t.Errorf("%s: %+v", name, p)
		}
		var stderr bytes.Buffer
		code := cli.Run(t.Context(), strings.Fields(command)[1:], nil, io.Discard, &stderr)
		if code != 2 || !strings.Contains(stderr.String(), `context "prod" does not exist`) {
			t.Errorf("%s: %d %s", command, code, stderr.String())
		}
	}
}
