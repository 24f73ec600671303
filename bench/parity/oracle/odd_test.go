package oracle_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

func preferring(value string) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
			Weight: 1,
			Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{value}},
			}},
		}},
	}}
}

func TestAPodThatCannotBeScored(t *testing.T) {
	c := zoned()
	c.Queue[0].Pod.Spec.Affinity = preferring("ssd,hdd")
	got, err := newScheduler(t, c).Place(c.Queue, func(best []uint32) uint32 { return best[0] })
	if err != nil {
		t.Fatal(err)
	}
	d := got[0].Unplaced
	if d == nil || d.Unscored == nil || d.Unscored.Plugin != "NodeAffinity" || d.Unscored.Code != fwk.Error {
		t.Fatalf("the first pod: %+v", d)
	}
	if diff := cmp.Diff([]uint32{0, 1, 2}, d.Feasible); diff != "" {
		t.Errorf("feasible nodes (-want +got):\n%s", diff)
	}
	if want := `running PreScore plugin "NodeAffinity": ` + d.Unscored.Reasons[0]; d.Message != want {
		t.Errorf("the text is %q, want %q", d.Message, want)
	}
	if want := `[0].matchExpressions[0].values[0][disk]: Invalid value: "ssd,hdd": `; !strings.HasPrefix(d.Unscored.Reasons[0], want) {
		t.Errorf("the plugin says %q, want %q...", d.Unscored.Reasons[0], want)
	}
}

// A single feasible node is taken without being scored.
func TestAPodThatNeedNotBeScored(t *testing.T) {
	c := zoned()
	c.Queue[0].Pod.Spec.Affinity = preferring("ssd,hdd")
	c.Candidates = []string{"node-1"}
	s := newScheduler(t, c)
	d, err := s.Decide(s.Queue[0])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]uint32{1}, d.Best); diff != "" || d.Unscored != nil || d.Message != "" {
		t.Errorf("got %+v, best nodes (-want +got):\n%s", d, diff)
	}
	for _, s := range d.Scores {
		if s.Plugin == "NodeAffinity" {
			t.Errorf("NodeAffinity scores %v", s.Scores)
		}
	}
}

func TestOnlyLongLivedPodsMayHaveInvalidValues(t *testing.T) {
	c := zoned()
	pod := c.Queue[0].Pod
	term := &pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
	term.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"a b"}},
	}}
	var invalid *oracle.InvalidError
	if _, err := oracle.New(c); !errors.As(err, &invalid) {
		t.Fatalf("got %v", err)
	}
	pod.Annotations = map[string]string{scenario.LongLived: "true"}
	s := newScheduler(t, c)
	d, err := s.Decide(s.Queue[0])
	if err != nil {
		t.Fatal(err)
	}
	const text = "0/3 nodes are available: parsing pod: requiredAntiAffinityTerms: "
	if d.Whole == nil || d.Whole.Plugin != "InterPodAffinity" || !strings.HasPrefix(d.Message, text) {
		t.Errorf("got %+v, want %q...", d, text)
	}
	pod.Spec.Containers = nil
	if _, err := oracle.New(c); !errors.As(err, &invalid) {
		t.Errorf("a long-lived pod without containers: %v", err)
	}
}

func TestAPodWhoseSpreadCannotBeParsed(t *testing.T) {
	c := zoned()
	pod := c.Queue[0].Pod
	pod.Annotations = map[string]string{scenario.LongLived: "true"}
	pod.Spec.Affinity = nil
	pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a b"}},
	}}
	s := newScheduler(t, c)
	d, err := s.Decide(s.Queue[0])
	if err != nil {
		t.Fatal(err)
	}
	if d.Whole == nil || d.Whole.Plugin != "PodTopologySpread" || d.Whole.Code != fwk.Error || len(d.Verdicts) != 3 {
		t.Fatalf("got %+v", d)
	}
	if want := `running PreFilter plugin "PodTopologySpread": ` + d.Whole.Reasons[0]; d.Message != want {
		t.Errorf("the text is %q, want %q", d.Message, want)
	}
	checks, err := s.Checks(s.Queue[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range checks {
		if diff := cmp.Diff(d.Whole, check.Refusal); diff != "" {
			t.Errorf("node %d: the plugin alone says (-want +got):\n%s", check.Node, diff)
		}
	}
	if len(checks) != 3 {
		t.Errorf("the plugin alone refuses %d nodes", len(checks))
	}
}
