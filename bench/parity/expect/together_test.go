package expect_test

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/bench/parity/expect"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Only adjacent pods of one group whose disruption mode is "all" are sorted.
func TestTogetherSortsPodsOfOneEvictionUnit(t *testing.T) {
	group := func(name string, mode *schedulingv1beta1.DisruptionMode) *schedulingv1beta1.PodGroup {
		return &schedulingv1beta1.PodGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: schedulingv1beta1.PodGroupSpec{DisruptionMode: mode},
		}
	}
	pod := func(name, group string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		if group != "" {
			p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
		}
		return p
	}
	together := expect.Together{
		Pods: []*corev1.Pod{pod("a", "whole"), pod("b", "whole"), pod("c", "single"), pod("d", "single"), pod("e", ""), pod("f", "")},
		Groups: []*schedulingv1beta1.PodGroup{
			group("whole", &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}), group("single", nil),
		},
	}
	var victims []*stowagev1.PodReference
	for _, name := range []string{"b", "a", "d", "c", "f", "e"} {
		victims = append(victims, &stowagev1.PodReference{Namespace: "ns", Name: name})
	}
	together.Sort(victims)
	var got []string
	for _, v := range victims {
		got = append(got, v.Name)
	}
	if d := gocmp.Diff([]string{"a", "b", "d", "c", "f", "e"}, got); d != "" {
		t.Error(d)
	}
}
