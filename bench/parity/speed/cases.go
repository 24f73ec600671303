package speed

import (
	_ "embed"
	"fmt"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

//go:embed cases.yaml
var casesFile []byte

// podCase is a pod to decide on.
type podCase struct {
	Name string      `json:"name"`
	Kind string      `json:"kind"`
	Pod  *corev1.Pod `json:"pod"`

	template *stowagev1.PodTemplate
}

// The cases that stand for more than themselves.
const (
	plain    = "plain"
	hostname = "hostname anti-affinity"
	all      = "all together"
)

func readCases() ([]*podCase, error) {
	var cases []*podCase
	if err := yaml.UnmarshalStrict(casesFile, &cases); err != nil {
		return nil, fmt.Errorf("cases.yaml: %w", err)
	}
	for _, c := range cases {
		pod, err := convert.PendingPod(c.Pod)
		if err != nil {
			return nil, fmt.Errorf("case %s: %w", c.Name, err)
		}
		c.template = pod.GetTemplate()
	}
	return cases, nil
}

// pod is the pod of a request. Each trial but the first has a template that the server has not seen, with the same
// answer: it has a label that nothing selects, and each of its selectors a condition that every pod meets.
func (c *podCase) pod(trial int) *stowagev1.Pod {
	t := c.template
	if trial > 0 {
		t = proto.CloneOf(t)
		key := fmt.Sprintf("trial-%d", trial)
		t.Labels[key] = ""
		// Not the key above: a spread constraint counts the pod itself only if it matches.
		always := &stowagev1.LabelSelectorRequirement{
			Key: "not-" + key, Operator: stowagev1.LabelSelectorOperator_LABEL_SELECTOR_OPERATOR_DOES_NOT_EXIST,
		}
		for _, s := range selectors(t.Spec) {
			s.MatchExpressions = append(s.MatchExpressions, always)
		}
	}
	return &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: t}}
}

// selectors returns the label selectors of a pod's terms and constraints.
func selectors(s *stowagev1.PodSpec) []*stowagev1.LabelSelector {
	var out []*stowagev1.LabelSelector
	for _, c := range s.TopologySpreadConstraints {
		out = append(out, c.LabelSelector)
	}
	for _, a := range []*stowagev1.PodAffinity{s.GetAffinity().GetPodAffinity(), s.GetAffinity().GetPodAntiAffinity()} {
		for _, term := range a.GetRequired() {
			out = append(out, term.LabelSelector)
		}
		for _, weighted := range a.GetPreferred() {
			out = append(out, weighted.Term.LabelSelector)
		}
	}
	return out
}
