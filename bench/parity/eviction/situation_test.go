// Package eviction_test compares which pods a drain evicts with the API server's own eviction code and with kubectl's own filters.
// Both sides read the same Kubernetes objects: Stowage as the command stowage drain reads them from a file.
package eviction_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/cli"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// situation is a node with pods, and the PodDisruptionBudgets beside it. The world puts each into a namespace of its own.
type situation struct {
	name    string
	pods    []*corev1.Pod
	budgets []*policyv1.PodDisruptionBudget
}

// verdict is the outcome for a pod.
type verdict string

const (
	evicted  verdict = "evicted"
	later    verdict = "evicted in a later round"
	stays    verdict = "stays"
	finished verdict = "not in the answer" // a pod that Succeeded or Failed is no pod of the cluster
)

func refused(reason string) verdict { return verdict("refused: " + reason) }

// pod returns a running pod of a ReplicaSet that is ready, as the API server has it.
func pod(name string, changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name), ResourceVersion: "1", Labels: map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{controller("apps/v1", "ReplicaSet", "web")},
		},
		Spec: corev1.PodSpec{SchedulerName: "default-scheduler", Containers: []corev1.Container{{
			Name: "c", Image: "web", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m")},
			},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

func controller(version, kind, name string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: version, Kind: kind, Name: name, UID: types.UID(name), Controller: new(true)}
}

// settle gives a situation a node and a namespace.
func (s *situation) settle(at int) (node, namespace string) {
	node, namespace = fmt.Sprintf("n-%d", at), fmt.Sprintf("s-%d", at)
	for _, p := range s.pods {
		p.Namespace, p.Spec.NodeName = namespace, node
	}
	for _, b := range s.budgets {
		if b.Namespace = cmp.Or(b.Namespace, namespace); b.Namespace != namespace {
			b.Name = namespace
		}
	}
	return node, namespace
}

// chunk is the number of situations in a call.
const chunk = 400

// compareAll compares the outcomes for the pods of situations with upstream's.
func compareAll(t *testing.T, situations []situation, upstream func(*testing.T, *situation) map[string][]verdict, flags ...string) {
	t.Helper()
	differences := 0
	for part := range slices.Chunk(situations, chunk) {
		got := drainEach(t, part, flags...)
		for i := range part {
			s := &part[i]
			want := upstream(t, s)
			for _, p := range s.pods {
				if !slices.Contains(want[p.Name], got[i][p.Name]) && differences < 20 {
					t.Errorf("%s: %s %v: upstream %q, here %q", s.name, p.Name, flags, want[p.Name], got[i][p.Name])
					differences++
				}
			}
		}
	}
	t.Logf("%d situations %v, %d differences", len(situations), flags, differences)
}

// drainEach returns the outcomes for the pods of each situation when its node is drained, by stowage drain.
func drainEach(t *testing.T, situations []situation, flags ...string) []map[string]verdict {
	t.Helper()
	var objects []runtime.Object
	at := map[string]int{}
	for i := range situations {
		node, namespace := situations[i].settle(i)
		at[node] = i
		objects = append(objects, newNode(node), daemonSet(namespace))
		for _, p := range situations[i].pods {
			objects = append(objects, p)
		}
		for _, b := range situations[i].budgets {
			objects = append(objects, b)
		}
	}
	out := make([]map[string]verdict, len(situations))
	for _, d := range drainAll(t, objects, flags...) {
		if len(d.GetNodes().GetNames()) != 1 {
			t.Fatalf("a drain of nodes %v", d.GetNodes())
		}
		i := at[d.GetNodes().GetNames()[0]]
		out[i] = verdicts(situations[i].pods, d)
	}
	return out
}

// drainAll returns the answers of stowage drain --all.
func drainAll(t *testing.T, objects []runtime.Object, flags ...string) (out []*stowagev1.NodeDrain) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	args := append([]string{"drain", "--all", "--moves", "-o", "json", "-f", "-"}, flags...)
	if code := cli.Run(t.Context(), args, bytes.NewReader(text), &stdout, &stderr); code == 2 {
		t.Fatalf("stowage %v: %s", args, stderr.String())
	}
	return drains(t, stdout.Bytes())
}

// verdicts reads an answer. Pods that are evicted and do not return are in no list.
func verdicts(pods []*corev1.Pod, d *stowagev1.NodeDrain) map[string]verdict {
	out := map[string]verdict{}
	for _, m := range d.Moves {
		out[m.Pod.Name] = evicted
		if m.Round > 0 {
			out[m.Pod.Name] = later
		}
	}
	for _, b := range d.Blocked {
		out[b.Pod.Name] = refused(b.Reason.String())
	}
	rest := verdict("")
	switch {
	case d.StayingCount > 0:
		rest = stays
	case d.EvictedCount > 0:
		rest = evicted
	}
	for _, p := range pods {
		switch {
		case out[p.Name] != "":
		case p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed:
			out[p.Name] = finished
		default:
			out[p.Name] = rest
		}
	}
	return out
}

func newNode(name string) *corev1.Node {
	amounts := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourcePods: resource.MustParse("1000")}
	return &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Status: corev1.NodeStatus{Capacity: amounts, Allocatable: amounts},
	}
}

// daemonSet returns the DaemonSet that exists.
func daemonSet(namespace string) *appsv1.DaemonSet {
	labels := map[string]string{"app": "agent"}
	return &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: namespace, UID: "agent"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod("").Spec},
		},
	}
}

// drains reads the document of stowage drain.
func drains(t *testing.T, text []byte) (out []*stowagev1.NodeDrain) {
	t.Helper()
	var document struct {
		Drains []json.RawMessage `json:"drains"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, d := range document.Drains {
		m := &stowagev1.NodeDrain{}
		if err := protojson.Unmarshal(d, m); err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}
