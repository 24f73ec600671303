package review_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/clients/embedded"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/manifest"
	"github.com/stowage-scheduler/stowage/clients/review"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// nodes are two zones; c has neither a zone nor room for pods that do not tolerate it.
const nodes = `
{apiVersion: v1, kind: Node, metadata: {name: a, labels: {kubernetes.io/hostname: a, topology.kubernetes.io/zone: z1, disk: ssd, cores: "8"}}, status: {allocatable: {cpu: "8", memory: 8Gi, pods: "110"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: b, labels: {kubernetes.io/hostname: b, topology.kubernetes.io/zone: z2, cores: "16"}}, status: {allocatable: {cpu: "8", memory: 8Gi, pods: "110"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: c, labels: {kubernetes.io/hostname: c, rack: r1}}, spec: {taints: [{key: dedicated, value: db, effect: NoSchedule}]}, status: {allocatable: {cpu: "8", memory: 8Gi, pods: "110"}}}
`

// system are namespaces that every cluster has.
const system = `
{apiVersion: v1, kind: NamespaceList, items: [{metadata: {name: kube-system}}, {metadata: {name: kube-public}}, {metadata: {name: kube-node-lease}}, {metadata: {name: other, labels: {team: x}}}]}
`

// web is a Deployment of two replicas whose pods have the given fields of a spec, each a line in flow style.
func web(fields ...string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: web}]
      %s
`, strings.Join(fields, "\n      "))
}

func read(t *testing.T, manifests ...string) *kube.Snapshot {
	t.Helper()
	r := manifest.NewReader(kube.Options{})
	for i, text := range manifests {
		if err := r.Read(fmt.Sprintf("%d.yaml", i), strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := r.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// short is what a case expects of a finding.
func short(all []review.Finding) []string {
	out := []string{}
	for _, f := range all {
		out = append(out, fmt.Sprintf("%s %s %s", f.Severity, f.Rule, strings.TrimPrefix(f.Field, "spec.template.spec.")))
	}
	return out
}

const (
	zone     = "topology.kubernetes.io/zone"
	hostname = "kubernetes.io/hostname"
)

// pods are two pods of an app on node a.
func pods(app string) string {
	var out strings.Builder
	for i := range 2 {
		fmt.Fprintf(&out, "---\n{apiVersion: v1, kind: Pod, metadata: {name: %s-%d, uid: '%d', labels: {app: %s}}, spec: {nodeName: a, containers: [{name: c, image: i}]}}\n",
			app, i, i, app)
	}
	return out.String()
}

func spread(rest string) string {
	return "topologySpreadConstraints: [{maxSkew: 1, topologyKey: " + zone + ", whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}" + rest + "}]"
}

func affinity(kind, terms string) string { return "affinity: {" + kind + ": {" + terms + "}}" }

func required(term string) string {
	return "requiredDuringSchedulingIgnoredDuringExecution: [{" + term + "}]"
}

const (
	requiredField  = "requiredDuringSchedulingIgnoredDuringExecution"
	preferredField = "preferredDuringSchedulingIgnoredDuringExecution"
	termsField     = "affinity.nodeAffinity." + requiredField + ".nodeSelectorTerms"
)

func nodeTerms(expressions ...string) string {
	var terms []string
	for _, e := range expressions {
		terms = append(terms, "{matchExpressions: ["+e+"]}")
	}
	return affinity("nodeAffinity", requiredField+": {nodeSelectorTerms: ["+strings.Join(terms, ", ")+"]}")
}

// podCases are pods of web, and what is found in their rules.
var podCases = map[string]struct {
	fields []string
	more   []string // manifests
	want   []string
}{
	"no rules":            {},
	"spread that holds":   {fields: []string{spread("")}},
	"key of no node":      {fields: []string{strings.Replace(spread(""), zone, "row", 1)}, want: []string{"broken topology-key topologySpreadConstraints[0].topologyKey"}},
	"deprecated key":      {fields: []string{strings.Replace(spread(""), zone, "failure-domain.beta.kubernetes.io/zone", 1)}, want: []string{"broken topology-key topologySpreadConstraints[0].topologyKey"}},
	"soft key of no node": {fields: []string{strings.NewReplacer(zone, "row", "DoNotSchedule", "ScheduleAnyway").Replace(spread(""))}, want: []string{"warning topology-key topologySpreadConstraints[0].topologyKey"}},
	"the node without the key is not for the pod": {fields: []string{spread("")}},
	"a node without the key": {
		fields: []string{spread(""), "tolerations: [{key: dedicated, operator: Exists}]"},
		want:   []string{"warning topology-key-part topologySpreadConstraints[0].topologyKey"},
	},
	"spread counts others only": {
		fields: []string{strings.Replace(spread(""), "app: web", "app: api", 1)},
		want:   []string{"warning selects-not-itself topologySpreadConstraints[0].labelSelector"},
	},
	"spread with an empty selector": {
		fields: []string{strings.Replace(spread(""), "{matchLabels: {app: web}}", "{}", 1)},
		want:   []string{"warning selects-no-pod topologySpreadConstraints[0].labelSelector"},
	},
	"spread without a selector": {
		fields: []string{"topologySpreadConstraints: [{maxSkew: 1, topologyKey: " + zone + ", whenUnsatisfiable: DoNotSchedule}]"},
		want:   []string{"warning selects-no-pod topologySpreadConstraints[0].labelSelector"},
	},
	"spread by revision": {fields: []string{spread(", matchLabelKeys: [pod-template-hash]")}},
	"more domains than there are": {
		fields: []string{spread(", minDomains: 3")}, want: []string{"note min-domains topologySpreadConstraints[0].minDomains"},
	},
	"as many domains as there are": {fields: []string{spread(", minDomains: 2")}},
	"maxSkew of all replicas": {
		fields: []string{strings.Replace(spread(""), "maxSkew: 1", "maxSkew: 2", 1)},
		want:   []string{"note max-skew topologySpreadConstraints[0].maxSkew"},
	},
	"maxSkew with more pods of the selector": {
		fields: []string{strings.Replace(spread(""), "maxSkew: 1", "maxSkew: 2", 1)},
		more:   []string{`{apiVersion: v1, kind: Pod, metadata: {name: web-x, labels: {app: web}}, spec: {nodeName: a, containers: [{name: c, image: i}]}}`},
	},
	"one domain that the node selector leaves": {
		fields: []string{spread(""), "nodeSelector: {disk: ssd}"},
		want:   []string{"note one-domain topologySpreadConstraints[0].topologyKey"},
	},
	"domains whatever the node selector is": {
		fields: []string{spread(", nodeAffinityPolicy: Ignore"), "nodeSelector: {disk: ssd}"},
		want:   []string{"warning empty-domain topologySpreadConstraints[0].maxSkew"},
	},
	"a node for each pod": {fields: []string{strings.Replace(spread(""), zone, hostname, 1)}},
	"more pods than nodes": {
		fields: []string{strings.Replace(spread(""), zone, hostname, 1), "tolerations: [{key: dedicated, operator: Exists}]"}, more: []string{pods("web")},
		want: []string{"note shared-node topologySpreadConstraints[0].maxSkew"},
	},
	"more pods than nodes that count": {
		fields: []string{strings.Replace(spread(", nodeTaintsPolicy: Honor"), zone, hostname, 1)}, more: []string{pods("web")},
	},
	"pods of other labels": {fields: []string{strings.Replace(spread(""), zone, hostname, 1)}, more: []string{pods("api")}},
	"pods that leave": {
		fields: []string{strings.Replace(spread(""), zone, hostname, 1)},
		more:   []string{strings.ReplaceAll(pods("web"), "labels:", "deletionTimestamp: 2026-01-01T00:00:00Z, labels:")},
	},
	"no node takes two before there are more domains": {
		fields: []string{strings.Replace(spread(", minDomains: 4"), zone, hostname, 1)}, more: []string{pods("web")},
		want: []string{"note min-domains topologySpreadConstraints[0].minDomains"},
	},
	"anti-affinity keeps them apart": {
		fields: []string{
			strings.Replace(spread(""), zone, hostname, 1),
			affinity("podAntiAffinity", required("labelSelector: {matchLabels: {app: web}}, topologyKey: "+hostname)),
		}, more: []string{pods("web")},
	},
	"contradicting labels": {
		fields: []string{strings.Replace(spread(""), "{matchLabels: {app: web}}",
			"{matchLabels: {app: web}, matchExpressions: [{key: app, operator: NotIn, values: [web]}]}", 1)},
		want: []string{"warning contradiction topologySpreadConstraints[0].labelSelector"},
	},

	"node selector that a node has": {fields: []string{"nodeSelector: {disk: ssd}"}},
	"node label of no node":         {fields: []string{"nodeSelector: {gpu: 'yes'}"}, want: []string{"broken node-selector nodeSelector[gpu]"}},
	"node label of another value":   {fields: []string{"nodeSelector: {disk: sdd}"}, want: []string{"broken node-selector nodeSelector[disk]"}},
	"labels of different nodes": {
		fields: []string{"nodeSelector: {disk: ssd, cores: '16'}"}, want: []string{"broken node-selector nodeSelector"},
	},
	"one of the values":    {fields: []string{nodeTerms("{key: disk, operator: In, values: [ssd, nvme]}")}},
	"another term matches": {fields: []string{nodeTerms("{key: disk, operator: In, values: [nvme]}", "{key: cores, operator: Exists}")}},
	"a term within another": {
		fields: []string{nodeTerms("{key: disk, operator: In, values: [nvme]}", "{key: disk, operator: Exists}")},
		want:   []string{"warning void-term " + termsField + "[1]"},
	},
	"a requirement that was meant in addition": { // all nodes have the hostname
		fields: []string{nodeTerms("{key: disk, operator: In, values: [ssd]}", "{key: kubernetes.io/hostname, operator: Exists}")},
		want:   []string{"warning void-term " + termsField + "[1]"},
	},
	"a term that matches more nodes now": {
		fields: []string{nodeTerms("{key: disk, operator: In, values: [ssd]}", "{key: cores, operator: Exists}")},
		want:   []string{"note void-term " + termsField + "[1]"},
	},
	"terms of different nodes": {fields: []string{nodeTerms("{key: disk, operator: Exists}", "{key: rack, operator: Exists}")}},
	"terms of the same nodes":  {fields: []string{nodeTerms("{key: disk, operator: Exists}", "{key: cores, operator: In, values: ['8']}")}},
	"the node selector leaves terms of the same nodes": {
		fields: []string{"nodeSelector: {disk: ssd}", nodeTerms("{key: cores, operator: In, values: ['8']}", "{key: cores, operator: Exists}, {key: disk, operator: Exists}")},
		want:   nil,
	},
	"no value": {
		fields: []string{nodeTerms("{key: disk, operator: In, values: [nvme]}")},
		want:   []string{"broken node-affinity affinity.nodeAffinity." + requiredField + ".nodeSelectorTerms[0].matchExpressions[0]"},
	},
	"no term": {
		fields: []string{nodeTerms("{key: disk, operator: In, values: [nvme]}", "{key: gpu, operator: Exists}")},
		want:   []string{"broken node-affinity affinity.nodeAffinity." + requiredField + ".nodeSelectorTerms"},
	},
	"all requirements of different nodes": {
		fields: []string{nodeTerms("{key: disk, operator: Exists}, {key: cores, operator: Gt, values: ['8']}")},
		want:   []string{"broken node-affinity affinity.nodeAffinity." + requiredField + ".nodeSelectorTerms[0]"},
	},
	"affinity and selector of different nodes": {
		fields: []string{"nodeSelector: {cores: '16'}", nodeTerms("{key: disk, operator: Exists}")},
		want:   []string{"broken node-affinity affinity.nodeAffinity." + requiredField},
	},
	"contradicting term": {
		fields: []string{nodeTerms("{key: disk, operator: Exists}, {key: disk, operator: DoesNotExist}")},
		want:   []string{"broken contradiction affinity.nodeAffinity." + requiredField + ".nodeSelectorTerms[0]"},
	},
	"contradicting term beside another": {
		fields: []string{nodeTerms("{key: disk, operator: Exists}, {key: disk, operator: DoesNotExist}", "{key: disk, operator: Exists}")},
		want:   []string{"warning contradiction affinity.nodeAffinity." + requiredField + ".nodeSelectorTerms[0]"},
	},
	"Gt of no number": {
		fields: []string{nodeTerms("{key: cores, operator: Gt, values: [many]}")},
		want:   []string{"broken unparsable affinity.nodeAffinity." + requiredField + ".nodeSelectorTerms[0]"},
	},
	"preference of no node": {
		fields: []string{affinity("nodeAffinity", preferredField+": [{weight: 1, preference: {matchExpressions: [{key: gpu, operator: Exists}]}}]")},
		want:   []string{"note node-affinity affinity.nodeAffinity." + preferredField + "[0].preference.matchExpressions[0]"},
	},

	"apart from itself": {fields: []string{affinity("podAntiAffinity", required("labelSelector: {matchLabels: {app: web}}, topologyKey: "+zone))}},
	"apart by a key of no node": {
		fields: []string{affinity("podAntiAffinity", required("labelSelector: {matchLabels: {app: web}}, topologyKey: row"))},
		want:   []string{"warning topology-key affinity.podAntiAffinity." + requiredField + "[0].topologyKey"},
	},
	"apart from nothing": {
		fields: []string{affinity("podAntiAffinity", required("labelSelector: {matchLabels: {app: wbe}}, topologyKey: "+zone))},
		want:   []string{"note selects-no-pod affinity.podAntiAffinity." + requiredField + "[0].labelSelector"},
	},
	"with itself": {fields: []string{affinity("podAffinity", required("labelSelector: {matchLabels: {app: web}}, topologyKey: "+zone))}},
	"with what is not there": {
		fields: []string{affinity("podAffinity", required("labelSelector: {matchLabels: {app: db}}, topologyKey: "+zone))},
		want:   []string{"broken selects-no-pod affinity.podAffinity." + requiredField + "[0].labelSelector"},
	},
	"with what is in another namespace": {
		fields: []string{affinity("podAffinity", required("labelSelector: {matchLabels: {app: db}}, topologyKey: "+zone))},
		more:   []string{`{apiVersion: v1, kind: Pod, metadata: {name: db, namespace: other, labels: {app: db}}, spec: {nodeName: a, containers: [{name: c, image: i}]}}`},
		want:   []string{"broken selects-no-pod affinity.podAffinity." + requiredField + "[0].labelSelector"},
	},
	"with what is in the namespace of the term": {
		fields: []string{affinity("podAffinity", required("labelSelector: {matchLabels: {app: db}}, namespaces: [other], topologyKey: "+zone))},
		more:   []string{`{apiVersion: v1, kind: Pod, metadata: {name: db, namespace: other, labels: {app: db}}, spec: {nodeName: a, containers: [{name: c, image: i}]}}`},
	},
	"with what is in selected namespaces": {
		fields: []string{affinity("podAffinity", required("labelSelector: {matchLabels: {app: db}}, namespaceSelector: {matchLabels: {team: x}}, topologyKey: "+zone))},
		more:   []string{system, `{apiVersion: v1, kind: Pod, metadata: {name: db, namespace: other, labels: {app: db}}, spec: {nodeName: a, containers: [{name: c, image: i}]}}`},
	},
	"namespaces that are not known": {
		fields: []string{affinity("podAntiAffinity", required("labelSelector: {matchLabels: {app: db}}, namespaceSelector: {matchLabels: {team: z}}, topologyKey: "+zone))},
	},
	"a namespace that does not exist": {
		fields: []string{affinity("podAntiAffinity", required("labelSelector: {matchLabels: {app: web}}, namespaces: [default, shop], topologyKey: "+zone))},
		more:   []string{system},
		want:   []string{"warning namespace affinity.podAntiAffinity." + requiredField + "[0].namespaces[1]"},
	},
	"a namespace that may exist": {
		fields: []string{affinity("podAntiAffinity", required("labelSelector: {matchLabels: {app: web}}, namespaces: [default, shop], topologyKey: "+zone))},
	},
	"pods of kinds that are not read may be selected": {
		fields: []string{affinity("podAntiAffinity", required("labelSelector: {matchLabels: {app: wbe}}, topologyKey: "+zone))},
		more:   []string{`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, uid: "1"}, spec: {replicas: 1, selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: wbe}}, spec: {containers: [{name: c, image: i}]}}}}`},
	},
}

func TestPods(t *testing.T) {
	for name, test := range podCases {
		t.Run(name, func(t *testing.T) {
			s := read(t, append(test.more, nodes, web(test.fields...))...)
			r, err := review.New(s, review.Options{})
			if err != nil {
				t.Fatal(err)
			}
			found := r.All(s.PendingSources())
			if test.want == nil {
				test.want = []string{}
			}
			if d := cmp.Diff(test.want, short(found)); d != "" {
				t.Errorf("%s\n%+v", d, found)
			}
			for _, f := range found {
				if f.Object.String() != "Deployment default/web" || f.Pods != 2 || !strings.HasSuffix(f.At, ".yaml: document 1: Deployment web") {
					t.Errorf("found of %v, %d pods, at %q", f.Object, f.Pods, f.At)
				}
			}
			unplaced(t, s, found)
		})
	}
}

// unplaced checks that pods whose rules are broken have no node.
func unplaced(t *testing.T, s *kube.Snapshot, found []review.Finding) {
	t.Helper()
	if review.Count(found, review.Broken) == 0 {
		return
	}
	client, stop, err := embedded.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stop() }()
	answer, err := client.Place(t.Context(), s.PlaceRequest())
	if err != nil {
		t.Fatal(err)
	}
	if answer.PlacedCount != 0 {
		t.Errorf("%d pods have a node though a rule is broken", answer.PlacedCount)
	}
}

func TestWeights(t *testing.T) {
	s := read(t, nodes, web(strings.Replace(spread(""), "DoNotSchedule", "ScheduleAnyway", 1)))
	profile := &stowagev1.Profile{PluginWeights: []*stowagev1.PluginWeight{{Plugin: stowagev1.Plugin_PLUGIN_POD_TOPOLOGY_SPREAD, Weight: new(int32(0))}}}
	r, err := review.New(s, review.Options{Profile: profile})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"warning no-weight topologySpreadConstraints[0]"}
	if d := cmp.Diff(want, short(r.All(s.PendingSources()))); d != "" {
		t.Error(d)
	}
}

func TestDeprecatedRoles(t *testing.T) {
	s := read(t, strings.Replace(nodes, "disk: ssd", `disk: ssd, node-role.kubernetes.io/control-plane: ""`, 1), web("nodeSelector: {kubernetes.io/role: master}"))
	r, err := review.New(s, review.Options{})
	if err != nil {
		t.Fatal(err)
	}
	found := r.All(s.PendingSources())
	const want = "no node has the label kubernetes.io/role, which is deprecated: nodes have node-role.kubernetes.io/control-plane"
	if len(found) != 1 || found[0].Message != want {
		t.Errorf("found %+v", found)
	}
}

func TestMessages(t *testing.T) {
	s := read(t, nodes, web(strings.Replace(spread(""), zone, "failure-domain.beta.kubernetes.io/zone", 1), "nodeSelector: {disk: sdd}"))
	r, err := review.New(s, review.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range r.All(s.PendingSources()) {
		got = append(got, f.String())
	}
	want := []string{
		"1.yaml: document 1: Deployment web: spec.template.spec.nodeSelector[disk]: no node has the value \"sdd\", nodes have ssd",
		"1.yaml: document 1: Deployment web: spec.template.spec.topologySpreadConstraints[0].topologyKey: no node has the label " +
			"failure-domain.beta.kubernetes.io/zone, which is deprecated: nodes have topology.kubernetes.io/zone (z1, z2): no node can take the pod",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
