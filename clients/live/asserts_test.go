package live_test

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/live"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// feasible fails unless exactly these nodes can take the pod now.
func (w *world) feasible(pod *corev1.Pod, want ...string) {
	w.t.Helper()
	got, err := w.nodes(pod)
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		w.t.Errorf("%s can go to %v, %v; want %v", pod.Name, got, err, want)
	}
}

// soon waits until exactly these nodes can take the pod.
func (w *world) soon(pod *corev1.Pod, want ...string) {
	w.t.Helper()
	eventually(w.t, pod.Name+" can go to these", func() bool {
		got, err := w.nodes(pod)
		slices.Sort(got)
		return err == nil && slices.Equal(got, want)
	})
}

// refused is the number of objects of a kind in stowage.live.refused.
func (w *world) refused(kind string) (n int64) {
	w.t.Helper()
	var all metricdata.ResourceMetrics
	if err := w.reader.Collect(w.t.Context(), &all); err != nil {
		w.t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if data, ok := m.Data.(metricdata.Gauge[int64]); ok && m.Name == "stowage.live.refused" {
				for _, p := range data.DataPoints {
					if v, _ := p.Attributes.Value("kind"); v.AsString() == kind {
						n += p.Value
					}
				}
			}
		}
	}
	return n
}

func (w *world) create(p *corev1.Pod) {
	w.t.Helper()
	if _, err := w.api.CoreV1().Pods(p.Namespace).Create(w.t.Context(), p, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) update(p *corev1.Pod) {
	w.t.Helper()
	if _, err := w.api.CoreV1().Pods(p.Namespace).Update(w.t.Context(), p, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func podUIDs(pods []*corev1.Pod) []types.UID {
	var out []types.UID
	for _, p := range pods {
		out = append(out, p.UID)
	}
	return out
}

func filter(ctx context.Context, w *world, v *live.View, pod *corev1.Pod) error {
	converted, err := convert.PendingPod(pod)
	if err != nil {
		return err
	}
	_, err = w.client.Filter(ctx, &stowagev1.FilterRequest{Context: &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Snapshot{Snapshot: v.Reference()},
	}, Pod: converted})
	return err
}
