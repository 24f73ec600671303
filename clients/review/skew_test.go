package review_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/clients/embedded"
	"github.com/stowage-scheduler/stowage/clients/review"
)

// worker is a node with further fields of its spec.
func worker(name, spec string) string {
	return fmt.Sprintf("---\n{apiVersion: v1, kind: Node, metadata: {name: %s, labels: {kubernetes.io/hostname: %s, role: %s}}, spec: {%s}, "+
		"status: {allocatable: {cpu: '8', memory: 8Gi, pods: '110'}}}\n", name, name, strings.TrimRight(name, "123"), spec)
}

const controlPlane = "taints: [{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}]"

// workers are three nodes.
func workers() string { return worker("w1", "") + worker("w2", "") + worker("w3", "") }

// TestSkew checks the findings about what a domain may take, and that the engine places as many pods.
func TestSkew(t *testing.T) {
	const (
		capped = "the constraint counts kubernetes.io/hostname=cp1, where no node can take the pod: without pods there, no other " +
			"domain accepts more than 1 of the 5 counted pods"
		shared = "5 counted pods share 4 nodes, up to 2 on one: a maxSkew of 1 balances pods; only required anti-affinity by " +
			"kubernetes.io/hostname gives each its own node"
		taints   = "; nodeTaintsPolicy: Honor does not count nodes with untolerated taints"
		affinity = "; nodeAffinityPolicy: Honor does not count nodes that the pod does not match"
	)
	tests := map[string]struct {
		nodes  string
		rest   string // of the constraint
		fields string
		want   string // empty for no finding
		placed uint32
	}{
		"a tainted node":           {worker("cp1", controlPlane) + workers(), "", "", capped + taints, 3},
		"a tainted node left out":  {worker("cp1", controlPlane) + workers(), ", nodeTaintsPolicy: Honor", "", strings.Replace(shared, "4 nodes", "3 nodes", 1), 5},
		"a tolerated taint":        {worker("cp1", controlPlane) + workers(), "", "tolerations: [{operator: Exists}]", shared, 5},
		"a preference not to go":   {worker("cp1", strings.Replace(controlPlane, "NoS", "PreferNoS", 1)) + workers(), "", "", shared, 5},
		"a cordoned node":          {worker("cp1", "unschedulable: true") + workers(), "", "", capped, 3},
		"a node of another label":  {worker("cp1", "") + workers(), ", nodeAffinityPolicy: Ignore", "nodeSelector: {role: w}", capped + affinity, 3},
		"enough for the others":    {worker("cp1", controlPlane) + workers() + worker("w4", "") + worker("w5", ""), "", "", "", 5},
		"pods on the tainted node": {worker("cp1", controlPlane) + workers() + strings.ReplaceAll(pods("web"), "nodeName: a", "nodeName: cp1"), "", "", "", 5},
		"a node that is too small": {
			strings.Replace(worker("cp1", ""), "cpu: '8'", "cpu: '1'", 1) + workers(), "", "overhead: {cpu: '2'}", capped, 3,
		},
		"no domain left": {worker("w1", controlPlane) + worker("w2", controlPlane), "", "", "", 0},
	}
	client, stop, err := embedded.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stop() })
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			constraint := strings.Replace(spread(test.rest), zone, hostname, 1)
			s := read(t, test.nodes, strings.Replace(web(constraint, test.fields), "replicas: 2", "replicas: 5", 1))
			r, err := review.New(s, review.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, f := range r.All(s.PendingSources()) {
				got += f.Message
			}
			if got != test.want {
				t.Errorf("found %q, want %q", got, test.want)
			}
			answer, err := client.Place(t.Context(), s.PlaceRequest())
			if err != nil {
				t.Fatal(err)
			}
			if answer.PlacedCount != test.placed {
				t.Errorf("%d of 5 pods have a node, want %d", answer.PlacedCount, test.placed)
			}
		})
	}
}

// TestEmptyZone checks that domains of other keys are found, too, with all their nodes.
func TestEmptyZone(t *testing.T) {
	tainted := strings.NewReplacer("cores: \"16\"}}", "cores: \"16\"}}, spec: {"+controlPlane+"}").Replace(nodes)
	s := read(t, tainted, web(spread("")), pods("web"))
	r, err := review.New(s, review.Options{})
	if err != nil {
		t.Fatal(err)
	}
	found := r.All(s.PendingSources())
	if len(found) != 1 || found[0].Rule != review.EmptyDomain || found[0].Severity != review.Warning || fmt.Sprint(found[0].Nodes) != "[b]" {
		t.Errorf("found %+v", found)
	}
}
