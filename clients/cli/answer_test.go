package cli_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/explain"
	"github.com/stowage-scheduler/stowage/clients/answer/input"
	"github.com/stowage-scheduler/stowage/clients/cli"
	"github.com/stowage-scheduler/stowage/clients/embedded"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/manifest"
	"github.com/stowage-scheduler/stowage/clients/servertest"
	client "github.com/stowage-scheduler/stowage/clients/stowage"
)

// TestExplainInGo compares what a Go program gets, of a server in its process and of another one, with the command's JSON.
func TestExplainInGo(t *testing.T) {
	address := servertest.Start(t).Address
	remote, err := client.Dial([]string{address})
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	local, stop, err := embedded.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stop() }()
	for target, files := range map[string][]string{
		"deploy/redash": {"01-required-zone-anti-affinity/nodes.yaml", "01-required-zone-anti-affinity/redash.yaml"},
		"pod/redash-3":  {"05-node-goes-down/nodes.yaml", "05-node-goes-down/required-running.yaml", "05-node-goes-down/required-pending.yaml"},
	} {
		var want, stderr bytes.Buffer
		args := []string{"explain", target, "-o", "json"}
		for i := range files {
			files[i] = "../examples/" + files[i]
			args = append(args, "-f", files[i])
		}
		if code := cli.Run(t.Context(), args, nil, &want, &stderr); code == 2 {
			t.Fatal(stderr.String())
		}
		for where, of := range map[string]*client.Client{"in process": local, "of a server": remote} {
			if d := cmp.Diff(want.String(), explained(t, of, target, files)); d != "" {
				t.Errorf("%s %s (-command +Go)\n%s", target, where, d)
			}
		}
	}
}

func explained(t *testing.T, of *client.Client, target string, files []string) string {
	r := manifest.NewReader(kube.Options{})
	for _, file := range files {
		if err := r.ReadPath(file, nil); err != nil {
			t.Fatal(err)
		}
	}
	q, err := (&input.Input{}).Question(of, r)
	if err != nil {
		t.Fatal(err)
	}
	a, err := explain.Ask(t.Context(), q, explain.Options{Targets: []string{target}})
	if err != nil {
		t.Fatal(err)
	}
	list, err := a.List()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := answer.Encode(&out, list); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
