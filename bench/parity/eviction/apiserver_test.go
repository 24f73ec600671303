package eviction_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1conversion "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/policy"
	podstorage "k8s.io/kubernetes/pkg/registry/core/pod/storage"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// apiServer is the API server's eviction subresource of pods, over pods and budgets in memory.
type apiServer struct {
	evictions *podstorage.EvictionREST
	pods      *podStore
}

func newAPIServer(t *testing.T, s *situation) *apiServer {
	t.Helper()
	client := fake.NewClientset()
	for _, b := range s.budgets {
		if err := client.Tracker().Add(b.DeepCopy()); err != nil {
			t.Fatal(err)
		}
	}
	a := &apiServer{evictions: &podstorage.EvictionREST{}, pods: &podStore{pods: map[string]*core.Pod{}}}
	for _, p := range s.pods {
		out := &core.Pod{}
		if err := corev1conversion.Convert_v1_Pod_To_core_Pod(p.DeepCopy(), out, nil); err != nil {
			t.Fatal(err)
		}
		a.pods.pods[p.Name] = out
	}
	set(a.evictions, "store", rest.StandardStorage(a.pods))
	set(a.evictions, "podDisruptionBudgetClient", client.PolicyV1())
	return a
}

// set sets a field that its package does not export.
func set(of any, field string, value any) {
	f := reflect.ValueOf(of).Elem().FieldByName(field)
	reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem().Set(reflect.ValueOf(value))
}

// evict evicts a pod.
func (a *apiServer) evict(t *testing.T, p *corev1.Pod) verdict {
	t.Helper()
	eviction := &policy.Eviction{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace}}
	out, err := a.evictions.Create(t.Context(), p.Name, eviction, nil, &metav1.CreateOptions{})
	status, ok := out.(*metav1.Status)
	switch {
	case err == nil && ok && status.Status == metav1.StatusSuccess:
		if a.pods.pods[p.Name] != nil {
			t.Fatalf("%s was evicted and is there", p.Name)
		}
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			return finished
		}
		return evicted
	case err == nil && ok && strings.Contains(status.Message, "more than one PodDisruptionBudget"):
		return blocked(stowagev1.BlockedReason_BLOCKED_REASON_SEVERAL_BUDGETS)
	case apierrors.IsTooManyRequests(err) && apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause):
		cause, _ := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause)
		if strings.Contains(cause.Message, "is still being processed") {
			return blocked(stowagev1.BlockedReason_BLOCKED_REASON_OUTDATED_BUDGET)
		}
		return blocked(stowagev1.BlockedReason_BLOCKED_REASON_BUDGET)
	case apierrors.IsForbidden(err) && apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause):
		return blocked(stowagev1.BlockedReason_BLOCKED_REASON_BUDGET)
	}
	t.Fatalf("the API server answers %v, %v", out, err)
	return ""
}

func blocked(r stowagev1.BlockedReason) verdict { return refused(r.String()) }

// asAPIServer evicts the pods of a situation one after another, in their order.
func asAPIServer(t *testing.T, s *situation) map[string][]verdict {
	t.Helper()
	a := newAPIServer(t, s)
	out := map[string][]verdict{}
	for _, p := range s.pods {
		out[p.Name] = []verdict{a.evict(t, p)}
	}
	return out
}

// podStore has the pods of a namespace. It checks preconditions as the store of the API server does.
type podStore struct {
	rest.StandardStorage
	pods     map[string]*core.Pod
	versions int
}

// Get returns a pod.
func (s *podStore) Get(_ context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	if p := s.pods[name]; p != nil {
		return p.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(core.Resource("pods"), name)
}

// Update changes a pod.
func (s *podStore) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo, _ rest.ValidateObjectFunc, _ rest.ValidateObjectUpdateFunc, _ bool,
	_ *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	old, err := s.Get(ctx, name, nil)
	if err != nil {
		return nil, false, err
	}
	out, err := info.UpdatedObject(ctx, old)
	if err != nil {
		return nil, false, err
	}
	p := out.(*core.Pod)
	s.versions++
	p.ResourceVersion = fmt.Sprint("updated-", s.versions)
	s.pods[name] = p.DeepCopy()
	return p, false, nil
}

// Delete deletes a pod.
func (s *podStore) Delete(
	_ context.Context, name string, _ rest.ValidateObjectFunc, o *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	p := s.pods[name]
	if o.Preconditions != nil && o.Preconditions.ResourceVersion != nil && *o.Preconditions.ResourceVersion != p.ResourceVersion {
		return nil, false, apierrors.NewConflict(core.Resource("pods"), name, fmt.Errorf("the pod was changed"))
	}
	delete(s.pods, name)
	return p, true, nil
}
