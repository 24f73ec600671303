package kube_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/testing/protocmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestPendingPod gives each case as a pod's spec and the spec of the contract that it becomes.
func TestPendingPod(t *testing.T) { //nolint:funlen // a table of cases
	for _, c := range []struct {
		name, meta, spec, want string
		// toleratesEviction: the pod has the tolerations of DefaultTolerationSeconds.
		toleratesEviction bool
	}{
		{
			name: "quantities round up to whole units",
			spec: `{containers: [{resources: {requests: {cpu: 100500u, memory: 1500m, ephemeral-storage: 1Ki, example.com/gpu: 2, hugepages-2Mi: 4Mi}}}]}`,
			want: `{containers: [{requests: {cpuMillis: 101, memoryBytes: 2, ephemeralStorageBytes: 1024, scalars: {example.com/gpu: 2, hugepages-2Mi: 4194304}}}]}`,
		},
		{
			name: "the API server rounds up to thousandths",
			spec: `{overhead: {cpu: 100u}, containers: [{resources: {requests: {cpu: 900u, memory: 100500u}}}, {resources: {requests: {memory: 900m}}}]}`,
			want: `{overhead: {cpuMillis: 1}, containers: [{requests: {cpuMillis: 1, memoryBytes: 1}}, {requests: {memoryBytes: 1}}]}`,
		},
		{
			name: "amounts add up before they are rounded",
			meta: `{uid: u}`,
			spec: `{overhead: {cpu: 100u}, containers: [{resources: {requests: {cpu: 900u, memory: 100m}}}, {resources: {requests: {memory: 900m}}}]}`,
			want: `{overhead: {cpuMillis: 0}, containers: [{requests: {cpuMillis: 1, memoryBytes: 1}}, {requests: {memoryBytes: 0}}]}`,
		},
		{
			name: "resources that are not scheduled are left out",
			spec: `{containers: [{resources: {requests: {storage: 1, requests.example.com/gpu: 2, kubernetes.io/batch-cpu: 3}}}]}`,
			want: `{containers: [{requests: {scalars: {kubernetes.io/batch-cpu: 3}}}]}`,
		},
		{
			name: "a missing request is the limit",
			spec: `{containers: [{resources: {requests: {cpu: 1}, limits: {cpu: 2, memory: 3}}}], initContainers: [{resources: {limits: {cpu: 4}}}]}`,
			want: `{containers: [{requests: {cpuMillis: 1000, memoryBytes: 3}}], initContainers: [{requests: {cpuMillis: 4000}}]}`,
		},
		{
			name: "an API server has already decided about limits",
			meta: `{uid: u}`,
			spec: `{containers: [{resources: {limits: {cpu: 2}}}]}`,
			want: `{containers: [{}]}`,
		},
		{
			name: "pod-level requests come from containers, then from limits",
			spec: `{resources: {limits: {cpu: 3, memory: 9}}, containers: [{resources: {requests: {cpu: 1}}}, {resources: {requests: {cpu: 1}, limits: {hugepages-2Mi: 2Mi}}}]}`,
			want: `{requests: {cpuMillis: 2000, memoryBytes: 9, scalars: {hugepages-2Mi: 2097152}},
				containers: [{requests: {cpuMillis: 1000}}, {requests: {cpuMillis: 1000, scalars: {hugepages-2Mi: 2097152}}}]}`,
		},
		{
			name: "pod-level requests that are stated stay",
			spec: `{resources: {requests: {cpu: 5, ephemeral-storage: 7}}, containers: [{resources: {requests: {cpu: 1, memory: 2}}}]}`,
			want: `{requests: {cpuMillis: 5000, memoryBytes: 2}, containers: [{requests: {cpuMillis: 1000, memoryBytes: 2}}]}`,
		},
		{
			name: "ports default to TCP and on the host's network to the container's",
			spec: `{hostNetwork: true, containers: [{ports: [{containerPort: 80}, {containerPort: 53, hostPort: 5353, protocol: UDP, hostIP: 127.0.0.1}]}]}`,
			want: `{containers: [{hostPorts: [{port: 80, protocol: PROTOCOL_TCP}, {port: 5353, protocol: PROTOCOL_UDP, hostIp: 127.0.0.1}]}]}`,
		},
		{
			name: "ports without hostPort occupy nothing",
			spec: `{containers: [{ports: [{containerPort: 80}]}]}`,
			want: `{containers: [{}]}`,
		},
		{
			name: "sidecars, images, overhead, gates, priority and the node's name",
			spec: `{initContainers: [{name: i, image: x, restartPolicy: Always}], volumes: [{name: v, image: {reference: data}}, {name: e, emptyDir: {}}],
				overhead: {cpu: 10m}, schedulingGates: [{name: g}], priority: 7, nodeName: m}`,
			want: `{initContainers: [{name: i, image: x, restartPolicy: CONTAINER_RESTART_POLICY_ALWAYS}], volumes: [{image: {reference: data}}, {emptyDir: {}}],
				overhead: {cpuMillis: 10}, schedulingGates: [g], priority: 7, nodeName: m}`,
		},
		{
			name: "label keys of a pod to be created are the server's to merge",
			spec: `{affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z, labelSelector: {}, matchLabelKeys: [a], mismatchLabelKeys: [b]}]}}}`,
			want: `{affinity: {podAntiAffinity: {required: [{topologyKey: z, labelSelector: {}, matchLabelKeys: [a], mismatchLabelKeys: [b]}]}}}`,
		},
		{
			name: "label keys of a pod that exists are merged, but spread reads them again",
			meta: `{uid: u}`,
			spec: `{affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 3, podAffinityTerm: {topologyKey: z, namespaces: [ns], namespaceSelector: {},
					labelSelector: {matchExpressions: [{key: a, operator: In, values: [v]}]}, matchLabelKeys: [a]}}]}},
				topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [a], minDomains: 2, nodeTaintsPolicy: Honor}]}`,
			want: `{affinity: {podAffinity: {preferred: [{weight: 3, term: {topologyKey: z, namespaces: [ns], namespaceSelector: {},
					labelSelector: {matchExpressions: [{key: a, operator: LABEL_SELECTOR_OPERATOR_IN, values: [v]}]}}}]}},
				topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE, matchLabelKeys: [a], minDomains: 2,
					nodeAffinityPolicy: NODE_INCLUSION_POLICY_HONOR, nodeTaintsPolicy: NODE_INCLUSION_POLICY_HONOR}]}`,
		},
		{
			name: "a node affinity that states no terms is not the same as none",
			spec: `{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}, podAffinity: {}}}`,
			want: `{affinity: {nodeAffinity: {required: {}}}}`,
		},
		{
			name: "node affinity",
			spec: `{nodeSelector: {a: b}, affinity: {nodeAffinity: {
				requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: size, operator: Gt, values: ["3"]}], matchFields: [{key: metadata.name, operator: In, values: [x]}]}]},
				preferredDuringSchedulingIgnoredDuringExecution: [{weight: 5, preference: {}}]}}}`,
			want: `{nodeSelector: {a: b}, affinity: {nodeAffinity: {
				required: {terms: [{matchExpressions: [{key: size, operator: NODE_SELECTOR_OPERATOR_GT, values: ["3"]}], matchFields: [{key: metadata.name, operator: NODE_SELECTOR_OPERATOR_IN, values: [x]}]}]},
				preferred: [{weight: 5, preference: {}}]}}}`,
		},
		{
			name: "tolerations",
			spec: `{tolerations: [{key: a, value: b}, {operator: Exists, effect: NoExecute}, {key: c, operator: Gt, value: "3"}]}`,
			want: `{tolerations: [{key: a, operator: TOLERATION_OPERATOR_EQUAL, value: b}, {operator: TOLERATION_OPERATOR_EXISTS, effect: TAINT_EFFECT_NO_EXECUTE},
				{key: c, operator: TOLERATION_OPERATOR_GT, value: "3"}]}`,
			toleratesEviction: true,
		},
		{
			name: "one of the tolerations that a pod gets when it is created",
			spec: `{tolerations: [{key: node.kubernetes.io/not-ready, value: x, effect: NoExecute}, {operator: Exists, effect: NoSchedule}]}`,
			want: `{tolerations: [{key: node.kubernetes.io/not-ready, operator: TOLERATION_OPERATOR_EQUAL, value: x, effect: TAINT_EFFECT_NO_EXECUTE},
				{operator: TOLERATION_OPERATOR_EXISTS, effect: TAINT_EFFECT_NO_SCHEDULE},
				{key: node.kubernetes.io/unreachable, operator: TOLERATION_OPERATOR_EXISTS, effect: TAINT_EFFECT_NO_EXECUTE}]}`,
			toleratesEviction: true,
		},
		{
			name: "preemptionPolicy, where it is not the default",
			spec: `{preemptionPolicy: Never}`,
			want: `{preemptionPolicy: PREEMPTION_POLICY_NEVER}`,
		},
		{
			name: "the default preemptionPolicy",
			spec: `{preemptionPolicy: PreemptLowerPriority}`,
			want: `{}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			meta := c.meta
			if meta == "" {
				meta = "{}"
			}
			in := parse[corev1.Pod](t, strings.ReplaceAll(`{metadata: `+meta+`, spec: `+c.spec+`}`, "\t", ""))
			before := in.DeepCopy()
			got, err := convert.PendingPod(in)
			must(t, err)
			want := message(t, &stowagev1.PodSpec{}, strings.ReplaceAll(c.want, "\t", ""))
			if c.meta == "" && !c.toleratesEviction {
				want.Tolerations = message(t, &stowagev1.PodSpec{}, `{`+defaultTolerations+`}`).Tolerations
			}
			diff(t, want, got.GetTemplate().Spec)
			if d := cmp.Diff(before, in); d != "" {
				t.Errorf("the pod was changed: %s", d)
			}
		})
	}
}

func TestPodNamesWhatIsWrongWithIt(t *testing.T) {
	for spec, want := range map[string]string{
		`{tolerations: [{operator: Foo}]}`:                          `spec.tolerations[0].operator: Unsupported value: "Foo": supported values: "", "Equal", "Exists", "Gt", "Lt"`,
		`{tolerations: [{effect: Foo}]}`:                            `spec.tolerations[0].effect: Unsupported value: "Foo"`,
		`{containers: [{restartPolicy: Foo}]}`:                      `spec.containers[0].restartPolicy: Unsupported value: "Foo"`,
		`{containers: [{ports: [{hostPort: 1, protocol: QUIC}]}]}`:  `spec.containers[0].ports[0].protocol: Unsupported value: "QUIC"`,
		`{containers: [{resources: {requests: {cpu: -1}}}]}`:        `spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must not be negative`,
		`{containers: [{resources: {requests: {cpu: 9E}}}]}`:        `spec.containers[0].resources.requests[cpu]: Invalid value: "9E": too large`,
		`{topologySpreadConstraints: [{whenUnsatisfiable: Never}]}`: `spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "Never"`,
		`{affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchExpressions: [{operator: Gt}]}}]}}}`: `spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[0].operator`,
		`{affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{preference: {matchFields: [{operator: Like}]}}]}}}`:     `spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchFields[0].operator`,
	} {
		_, err := convert.PendingPod(parse[corev1.Pod](t, `{spec: `+spec+`}`))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", spec, err, want)
		}
	}
}

func TestRunningPodStatesResizesOnly(t *testing.T) {
	const spec = `spec: {nodeName: n, containers: [{name: c, resources: {requests: {cpu: 1}}}]}`
	for _, c := range []struct{ name, status, want string }{
		{"nothing reported", `{}`, ``},
		{"what the spec says", `{containerStatuses: [{name: c, allocatedResources: {cpu: 1}, resources: {requests: {cpu: 1}}}], resources: {requests: {cpu: 1}}, allocatedResources: {cpu: 1}}`, ``},
		{"part of what the spec says", `{containerStatuses: [{name: c, allocatedResources: {cpu: 1000m}}, {name: gone, allocatedResources: {cpu: 9}}]}`, ``},
		{"a pod-level status that says the same", `{resources: {requests: {cpu: 1}}, allocatedResources: {cpu: 1}, containerStatuses: [{name: c, allocatedResources: {cpu: 1}}]}`, ``},
		{"shrinking", `{containerStatuses: [{name: c, allocatedResources: {cpu: 3}, resources: {requests: {cpu: 4}}}]}`,
			`{containers: [{name: c, allocated: {cpuMillis: 3000}, actuated: {cpuMillis: 4000}}]}`},
		{"infeasible", `{conditions: [{type: PodResizePending, reason: Infeasible}], containerStatuses: [{name: c, allocatedResources: {}, resources: {requests: {}}}]}`,
			`{resizeInfeasible: true, containers: [{name: c, allocated: {}, actuated: {}}]}`},
		{"pod-level", `{resources: {requests: {cpu: 5}}, allocatedResources: {cpu: 2}}`, `{allocated: {cpuMillis: 2000}, actuated: {cpuMillis: 5000}, resourcesPresent: true}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := kube.RunningPod(parse[corev1.Pod](t, `{metadata: {uid: u}, `+spec+`, status: `+c.status+`}`))
			must(t, err)
			var want *stowagev1.PodResourceStatus
			if c.want != "" {
				want = message(t, &stowagev1.PodResourceStatus{}, c.want)
			}
			if d := cmp.Diff(want, got.ResourceStatus, protocmp.Transform()); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			if got.GetTemplate().Spec.NodeName != "" {
				t.Error("a running pod's template names a node")
			}
		})
	}
}

func TestNodeAndNamespace(t *testing.T) {
	got, err := convert.Node(parse[corev1.Node](t, `
metadata: {name: m, labels: {a: b}}
spec: {unschedulable: true, taints: [{key: k, value: v, effect: NoExecute}]}
status: {capacity: {cpu: 8, pods: 110}, images: [{names: [x, z], sizeBytes: 5}]}
`))
	must(t, err)
	diff(t, message(t, &stowagev1.Node{}, `
{name: m, labels: {a: b}, unschedulable: true, taints: [{key: k, value: v, effect: TAINT_EFFECT_NO_EXECUTE}],
allocatable: {cpuMillis: 8000, pods: 110}, images: [{names: [x, z], sizeBytes: 5}]}
`), got)
	if _, err := convert.Node(parse[corev1.Node](t, `{spec: {taints: [{key: k}]}}`)); err == nil {
		t.Error("a taint without effect was accepted")
	}
	diff(t, message(t, &stowagev1.Namespace{}, `{name: m, labels: {a: b, kubernetes.io/metadata.name: m}}`),
		convert.Namespace(parse[corev1.Namespace](t, `{metadata: {name: m, labels: {a: b}}}`)))
}

// kube-scheduler reads a pod-level status.allocatedResources only beside status.resources, which need not have requests.
func TestPodLevelStatusWithoutRequests(t *testing.T) {
	for status, want := range map[string]string{
		`{allocatedResources: {cpu: 12}, resources: {}}`:             `{allocated: {cpuMillis: 12000}, resourcesPresent: true}`,
		`{allocatedResources: {cpu: 12}, resources: {requests: {}}}`: `{allocated: {cpuMillis: 12000}, actuated: {}, resourcesPresent: true}`,
		`{resources: {limits: {cpu: 12}}, containerStatuses: []}`:    "",
		`{allocatedResources: {cpu: 12}}`:                            "",
	} {
		got, err := kube.RunningPod(parse[corev1.Pod](t, `{metadata: {uid: u}, spec: {resources: {requests: {cpu: 5}}}, status: `+status+`}`))
		must(t, err)
		if want == "" {
			if got.ResourceStatus != nil {
				t.Errorf("%s: got %v", status, got.ResourceStatus)
			}
			continue
		}
		diff(t, message(t, &stowagev1.PodResourceStatus{}, want), got.ResourceStatus)
	}
}
