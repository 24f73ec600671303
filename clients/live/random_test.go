package live_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/cel"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/live"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestRandomEvents creates, changes and deletes random objects, and compares answers about the live cluster, whose deltas grow
// and become bases, with answers about a cluster built from the objects.
func TestRandomEvents(t *testing.T) {
	for _, startTimes := range []bool{false, true} {
		r := newRandom(t, live.Options{StartTimes: startTimes})
		r.storage, r.kinds, r.use = randomStorage(r.world), live.StorageResources(), (*random).mount
		r.run(800, volumeReasons)
		if r.victims == 0 {
			t.Error("no pod would be evicted")
		}
		t.Logf("%d candidates for preemption", r.victims)
	}
}

// TestRandomDeviceEvents is TestRandomEvents with the objects of devices.
func TestRandomDeviceEvents(t *testing.T) {
	r := newRandom(t, live.Options{StartTimes: true, Selectors: cel.New()})
	r.storage, r.kinds, r.use = randomDevices(r.world), live.DeviceResources(), (*random).claim
	r.run(600, deviceReasons)
}

func newRandom(t *testing.T, o live.Options) *random {
	return &random{
		world: startWith(t, o, withDevices), rng: rand.New(rand.NewPCG(5, 8)), selectors: o.Selectors, nodes: map[string]*corev1.Node{},
		pods: map[string]*corev1.Pod{}, spaces: map[string]bool{}, budgets: map[string]*policyv1.PodDisruptionBudget{}, reasons: map[string]int{},
	}
}

// run makes changes, and expects that rejections with some texts were compared.
func (r *random) run(steps int, texts []string) {
	for step := range steps {
		r.step(step)
		if step%10 == 0 {
			r.compare(step)
		}
	}
	for _, text := range texts {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(r.reasons)), func(reason string) bool { return strings.Contains(reason, text) }) {
			r.t.Errorf("of %d texts of rejections, none has %q", len(r.reasons), text)
		}
	}
}

type random struct {
	*world
	rng       *rand.Rand
	nodes     map[string]*corev1.Node
	pods      map[string]*corev1.Pod
	spaces    map[string]bool
	budgets   map[string]*policyv1.PodDisruptionBudget
	reasons   map[string]int // the texts of rejections that were compared
	storage   map[schema.GroupVersionResource]randomKind
	kinds     []schema.GroupVersionResource // of storage
	use       func(*random, *corev1.Pod)    // makes a pod use some of them
	selectors convert.Selectors
	victims   int // candidates for preemption that were compared
	service   *corev1.Service
}

func (r *random) step(step int) {
	ctx, t := r.t.Context(), r.t
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
	}
	name := fmt.Sprintf("node-%d", r.rng.IntN(120))
	switch what := r.rng.IntN(24); {
	case what >= 12:
		check(r.change(step))
	case what < 3 && r.nodes[name] == nil:
		n := makeNode(name, fmt.Sprintf("z%d", r.rng.IntN(4)))
		_, err := r.api.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{})
		check(err)
		r.nodes[name] = n
	case what == 3 && r.nodes[name] != nil:
		check(r.api.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}))
		delete(r.nodes, name)
	case what == 4 && r.nodes[name] != nil:
		n := r.nodes[name].DeepCopy()
		n.Labels[corev1.LabelTopologyZone] = fmt.Sprintf("z%d", r.rng.IntN(4))
		n.Status.Allocatable[corev1.ResourceCPU] = *resource.NewQuantity(int64(r.rng.IntN(3)), resource.DecimalSI)
		_, err := r.api.CoreV1().Nodes().Update(ctx, n, metav1.UpdateOptions{})
		check(err)
		r.nodes[name] = n
	case what < 8:
		// The same names again and again, with other uids; some on nodes that are not there (yet).
		pod := fmt.Sprintf("pod-%d", r.rng.IntN(60))
		if old := r.pods[pod]; old != nil {
			check(r.api.CoreV1().Pods("default").Delete(ctx, pod, metav1.DeleteOptions{}))
			delete(r.pods, pod)
			break
		}
		p := on(makePod(pod, fmt.Sprintf("app-%d", r.rng.IntN(4)), []string{corev1.LabelTopologyZone, corev1.LabelHostname}[r.rng.IntN(2)]), name)
		p.UID = types.UID(fmt.Sprintf("%s-%d", pod, step))
		switch r.rng.IntN(4) {
		case 0:
			p.Spec.Affinity = nil
		case 1:
			p.Labels["apps.kubernetes.io/pod-index"] = pod // listed individually
		case 2:
			p.Labels["own"] = pod // a template of its own
		}
		if r.rng.IntN(5) == 0 {
			p.Spec.NodeName, p.Status.NominatedNodeName = "", name
		}
		r.use(r, p)
		_, err := r.api.CoreV1().Pods("default").Create(ctx, p, metav1.CreateOptions{})
		check(err)
		r.pods[pod] = p
	case what == 8:
		space := fmt.Sprintf("space-%d", r.rng.IntN(4))
		if r.spaces[space] {
			check(r.api.CoreV1().Namespaces().Delete(ctx, space, metav1.DeleteOptions{}))
		} else {
			_, err := r.api.CoreV1().Namespaces().Create(ctx, r.space(space), metav1.CreateOptions{})
			check(err)
		}
		r.spaces[space] = !r.spaces[space]
	case what == 10:
		for _, name := range slices.Sorted(maps.Keys(r.pods)) {
			if p := r.pods[name]; p.Spec.NodeName != "" && p.Status.StartTime == nil {
				p = p.DeepCopy()
				p.Status.StartTime = new(metav1.Unix(1_700_000_000+int64(step), 0))
				_, err := r.api.CoreV1().Pods("default").UpdateStatus(ctx, p, metav1.UpdateOptions{})
				check(err)
				r.pods[name] = p
				break
			}
		}
	case what == 11:
		r.budget(fmt.Sprintf("budget-%d", r.rng.IntN(3)), check)
	case r.service == nil:
		r.service = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "default", UID: "s"},
			Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "app-0"}}}
		_, err := r.api.CoreV1().Services("default").Create(ctx, r.service, metav1.CreateOptions{})
		check(err)
	default:
		check(r.api.CoreV1().Services("default").Delete(ctx, "s", metav1.DeleteOptions{}))
		r.service = nil
	}
}

// budget makes a PodDisruptionBudget come, change or go.
func (r *random) budget(name string, check func(error)) {
	budgets, ctx := r.api.PolicyV1().PodDisruptionBudgets("default"), r.t.Context()
	b := r.budgets[name].DeepCopy()
	switch {
	case b == nil:
		b = &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)}}
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprintf("app-%d", r.rng.IntN(4))}}
		_, err := budgets.Create(ctx, b, metav1.CreateOptions{})
		check(err)
	case r.rng.IntN(3) == 0:
		check(budgets.Delete(ctx, name, metav1.DeleteOptions{}))
		delete(r.budgets, name)
		return
	default:
		b.Status.DisruptionsAllowed = int32(r.rng.IntN(3))
		_, err := budgets.UpdateStatus(ctx, b, metav1.UpdateOptions{})
		check(err)
	}
	r.budgets[name] = b
}

func (r *random) space(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{"team": "a"}}}
}

// compare waits until the live cluster answers as the objects do.
func (r *random) compare(step int) {
	b := kube.NewBuilder(kube.Options{WholeStorage: true, WholeDevices: true, Selectors: r.selectors})
	for _, name := range slices.Sorted(maps.Keys(r.nodes)) {
		if err := b.AddNode(r.nodes[name]); err != nil {
			r.t.Fatal(err)
		}
	}
	for _, p := range r.pods {
		if err := b.AddPod(p); err != nil {
			r.t.Fatal(err)
		}
	}
	for _, budget := range r.budgets {
		if err := b.AddPodDisruptionBudget(budget); err != nil {
			r.t.Fatal(err)
		}
	}
	for name, there := range r.spaces {
		if there {
			if err := b.AddNamespace(r.space(name)); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	if r.service != nil {
		if err := b.AddService(r.service); err != nil {
			r.t.Fatal(err)
		}
	}
	for _, of := range r.kinds {
		if err := r.storage[of].add(b); err != nil {
			r.t.Fatal(err)
		}
	}
	fresh, err := b.Build()
	if err != nil {
		r.t.Fatal(err)
	}
	for app := range 4 {
		p := makePod("new", fmt.Sprintf("app-%d", app), corev1.LabelTopologyZone)
		if app >= 2 {
			r.use(r, p)
		}
		pod, err := r.PendingPod(p)
		if err != nil {
			r.t.Fatal(err)
		}
		if app == 0 {
			pod.GetTemplate().Spec.Affinity = nil // the Service spreads it
		}
		want, err := r.client.Score(r.t.Context(), &stowagev1.ScoreRequest{Context: &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Cluster{Cluster: fresh.Cluster}, IncludeNodeNames: true,
		}, Pod: pod, IncludeRejections: true})
		if err != nil {
			r.t.Fatal(err)
		}
		var diff string
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			var got *stowagev1.ScoreResponse
			err := r.Ask(r.t.Context(), func(ctx context.Context, v *live.View) (err error) {
				got, err = r.client.Score(ctx, &stowagev1.ScoreRequest{Context: &stowagev1.DecisionContext{
					Base: &stowagev1.DecisionContext_Snapshot{Snapshot: v.Reference()}, IncludeNodeNames: true,
				}, Pod: pod, IncludeRejections: true})
				return err
			})
			if err != nil {
				r.t.Fatalf("step %d: %v", step, err)
			}
			if diff = cmp.Diff(byName(want), byName(got)); diff == "" {
				break
			}
		}
		for _, reason := range byName(want) {
			r.reasons[reason]++
		}
		if diff != "" {
			r.t.Fatalf("step %d, app %d: %s", step, app, diff)
		}
	}
	r.compareVictims(step, fresh.Cluster)
}

// compareVictims waits until the live cluster has the victims that the objects have, for a pod that takes a whole node, on
// the nodes with pods: their number, and how many violate a PodDisruptionBudget.
func (r *random) compareVictims(step int, fresh *stowagev1.Cluster) {
	urgent := makePod("urgent", "urgent", corev1.LabelHostname)
	urgent.Spec.Priority, urgent.Spec.Affinity = new(int32(10)), nil
	urgent.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("3950m")
	r.use(r, urgent)
	pod, err := r.PendingPod(urgent)
	if err != nil {
		r.t.Fatal(err)
	}
	ask := func(ctx context.Context, of *stowagev1.DecisionContext, candidates []uint32) (map[string]string, error) {
		of.IncludeNodeNames = true
		a, err := r.client.Preempt(ctx, &stowagev1.PreemptRequest{
			Context: of, Pod: pod, CandidateNodes: &stowagev1.CandidateNodes{Indexes: candidates}, IncludeCandidates: true,
		})
		out := map[string]string{}
		for _, c := range a.GetPreemption().GetCandidates() {
			var victims uint32
			for _, v := range c.Victims {
				victims += v.Count
			}
			out[c.NodeName] = fmt.Sprintf("%d victims, %d violations", victims, c.PdbViolations)
		}
		return out, err
	}
	var names []string
	var candidates []uint32
	for i, n := range fresh.Nodes {
		if len(n.Pods) > 0 {
			names, candidates = append(names, n.Name), append(candidates, uint32(i))
		}
	}
	if len(names) == 0 {
		return
	}
	want, err := ask(r.t.Context(), &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: fresh}}, candidates)
	if err != nil {
		r.t.Fatal(err)
	}
	r.victims += len(want)
	var got map[string]string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		err := r.Ask(r.t.Context(), func(ctx context.Context, v *live.View) (err error) {
			var there []uint32
			for _, name := range names {
				if i, known := v.NodeIndex(name); known {
					there = append(there, i)
				}
			}
			slices.Sort(there)
			got, err = ask(ctx, &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Snapshot{Snapshot: v.Reference()}}, there)
			return err
		})
		if err != nil {
			r.t.Fatalf("step %d: %v", step, err)
		}
		if maps.Equal(want, got) {
			return
		}
	}
	r.t.Fatalf("step %d: %s", step, cmp.Diff(want, got))
}

// byName is an answer whatever the order of the nodes.
func byName(a *stowagev1.ScoreResponse) map[string]string {
	out := map[string]string{"message": a.GetMessage()}
	for i, name := range a.GetNodes().GetNames() {
		out[name] = fmt.Sprint(a.GetTotalScores()[i])
	}
	for _, rejection := range a.GetRejections() {
		for _, name := range rejection.GetNodes().GetNames() {
			out[name] = rejection.GetReasons()[0].GetMessage()
		}
	}
	return out
}
