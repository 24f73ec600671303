package cli_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/clients/cli"
)

// TestAgentSeesWhatFlagsSelect starts stowage mcp with a selector: the tools place no other pending pods.
func TestAgentSeesWhatFlagsSelect(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cluster.yaml")
	pod := func(name string) string {
		return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", uid: " + name + ", labels: {app: " + name + "}}\nspec: {containers: [{name: c, image: i}]}\n"
	}
	must(t, os.WriteFile(path, []byte("apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}\n"+pod("web")+pod("other")), 0o600))
	for _, flags := range [][]string{nil, {"-l", "app=web"}} {
		in, messages := io.Pipe()
		answers, out := io.Pipe()
		go cli.Run(t.Context(), append([]string{"mcp", "-f", path}, flags...), in, out, io.Discard)
		read := bufio.NewReader(answers)
		var answer string
		for _, message := range []map[string]any{
			{"id": 1, "method": "initialize", "params": map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"}}},
			{"method": "notifications/initialized"},
			{"id": 2, "method": "tools/call", "params": map[string]any{"name": "place", "arguments": map[string]any{"detail": true}}},
		} {
			message["jsonrpc"] = "2.0"
			must(t, json.NewEncoder(messages).Encode(message))
			if message["id"] != nil {
				var err error
				answer, err = read.ReadString('\n')
				must(t, err)
			}
		}
		must(t, messages.Close())
		if !strings.Contains(answer, `\"web\"`) || strings.Contains(answer, `\"other\"`) != (flags == nil) {
			t.Errorf("%v: %s", flags, answer)
		}
	}
}
