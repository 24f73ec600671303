package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/stowage-scheduler/stowage/bench/e2e/controlplane"
	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestDrain drains nodes of random clusters by the API's eviction, after the answer of Drain. The same pods must end up without a
// node, and the same must stay because of their budgets, by the Deployments that they are of. Which of several best nodes a pod goes
// to is chance in kube-scheduler: where what is left depends on that, the outcome must be one of Drain's for different
// seeds. A cluster is made once more if it differs: kube-scheduler may have been late to see an event.
func TestDrain(t *testing.T) {
	s := start(t)
	schedulers[0].start(t, s)
	startServer(t, s)
	conn, err := grpc.NewClient(s.Address(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	defer conn.Close()
	simulation := stowagev1.NewSimulationServiceClient(conn)
	var seen drainOutcomes
	for run := range repeats(20) {
		wrong := confirmed(t, func() []string { return drainOnce(t, s, simulation, uint64(run), &seen) })
		for _, text := range wrong {
			t.Errorf("cluster %d: %s", run, text)
		}
	}
	t.Logf("%+v", seen)
	if seen.Evicted == 0 {
		t.Error("no pod was evicted")
	}
}

// drainOutcomes counts what the clusters were about. Determined ones have the same outcome for every seed.
type drainOutcomes struct{ Clusters, Determined, Evicted, Unplaced, Blocked int }

// drained is what is left of a drain: pods without a node, and pods that stay, by Deployment.
type drained struct{ unplaced, blocked map[string]int }

func (d drained) String() string {
	return fmt.Sprintf("without a node %v, blocked %v", d.unplaced, d.blocked)
}

func (d drained) equal(o drained) bool {
	return maps.Equal(d.unplaced, o.unplaced) && maps.Equal(d.blocked, o.blocked)
}

// drainSeeds is the number of seeds for Drain.
const drainSeeds = 40

func drainOnce(
	t *testing.T, s *stack.Stack, simulation stowagev1.SimulationServiceClient, seed uint64, seen *drainOutcomes,
) (wrong []string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 16))
	var nodes int
	for { // until every pod has a node
		deleteAll(t, s)
		if nodes = drawCluster(t, s, rng); len(settle(t, s)) == 0 {
			break
		}
	}
	var names []string
	for i := range 1 + rng.IntN(2) {
		names = append(names, fmt.Sprintf("node-%05d", (rng.IntN(nodes)+i)%nodes))
	}
	slices.Sort(names)
	names = slices.Compact(names)
	request, workloads := drainRequest(t, s, names)
	request.EvictedPods = stowagev1.EvictedPods_EVICTED_PODS_GONE
	var answers []drained
	evicted := 0
	for i := range drainSeeds {
		request.TieBreakSeed = uint64(i)
		answer := drainAnswer(t, simulation, request)
		evicted = int(answer.EvictedCount)
		d := drained{map[string]int{}, map[string]int{}}
		for _, p := range answer.Unplaced {
			d.unplaced[workloads[p.Pod.Name]] += int(p.Pod.Count)
		}
		for _, p := range answer.Blocked {
			d.blocked[workloads[p.Pod.Name]] += int(p.Pod.Count)
		}
		if !slices.ContainsFunc(answers, d.equal) {
			answers = append(answers, d)
		}
	}
	got := drainByEvictions(t, s, names)
	seen.Clusters++
	seen.Evicted += evicted
	seen.Unplaced += len(got.unplaced)
	seen.Blocked += len(got.blocked)
	if len(answers) == 1 {
		seen.Determined++
	}
	if !slices.ContainsFunc(answers, got.equal) {
		return []string{fmt.Sprintf("drained %v: %v, and Drain says %v", names, got, answers)}
	}
	return nil
}

// drawCluster creates nodes, Deployments and budgets, and returns the number of nodes.
func drawCluster(t *testing.T, s *stack.Stack, rng *rand.Rand) int {
	t.Helper()
	nodes := 3 + rng.IntN(3)
	must(t, controlplane.FakeNodes(t.Context(), s.Client, nodes, 2))
	full := 0.6 + 0.3*rng.Float64()
	for i, used := 0, 0; ; i++ {
		cpu, replicas := []int{2, 4, 6, 8, 12, 16}[rng.IntN(6)], 1+rng.IntN(min(4, nodes))
		if used += cpu * replicas; float64(used) > full*float64(32*nodes) {
			return nodes
		}
		name := fmt.Sprintf("app-%d", i)
		labels := map[string]string{"app": name}
		pod := sized(name, fmt.Sprint(cpu), stack.PlainPods)
		switch rng.IntN(4) {
		case 0:
			pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
				}},
			}}
		case 1:
			pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
				LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
			}}
		}
		_, err := s.Client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: appsv1.DeploymentSpec{
				Replicas: new(int32(replicas)), Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod.Spec},
			},
		}, metav1.CreateOptions{})
		must(t, err)
		if rng.IntN(2) == 0 {
			_, err := s.Client.PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), &policyv1.PodDisruptionBudget{
				ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: policyv1.PodDisruptionBudgetSpec{
					MinAvailable: new(intstr.FromInt(max(0, replicas-[]int{0, 1, 1, 2}[rng.IntN(4)]))),
					Selector:     &metav1.LabelSelector{MatchLabels: labels},
				},
			}, metav1.CreateOptions{})
			must(t, err)
		}
	}
}

// settle waits until every pod either runs or was rejected, Deployments have their pods, and budgets count what runs. It returns the
// pods without a node.
func settle(t *testing.T, s *stack.Stack) (without []corev1.Pod) {
	t.Helper()
	last, since := "", time.Now()
	eventually(t, patience, func() error {
		state, err := settledPods(t.Context(), s, &without)
		if err != nil {
			last = ""
			return err
		}
		if state != last {
			last, since = state, time.Now()
		}
		if time.Since(since) < 2*settled {
			return errors.New("pods still change")
		}
		return nil
	})
	return without
}

// settledPods describes the pods, or says what is not settled.
func settledPods(ctx context.Context, s *stack.Stack, without *[]corev1.Pod) (state string, err error) {
	deployments, err := s.Client.AppsV1().Deployments("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	pods, err := s.Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	want, healthy := 0, map[string]int32{}
	for _, d := range deployments.Items {
		want += int(*d.Spec.Replicas)
	}
	if len(pods.Items) != want {
		return "", fmt.Errorf("%d pods, not %d", len(pods.Items), want)
	}
	*without = nil
	for _, p := range pods.Items {
		switch c := condition(&p); {
		case p.DeletionTimestamp != nil:
			return "", fmt.Errorf("%s terminates", p.Name)
		case p.Spec.NodeName != "" && p.Status.Phase == corev1.PodRunning:
			healthy[p.Labels["app"]]++
		case p.Spec.NodeName == "" && c != nil && c.Status == corev1.ConditionFalse:
			*without = append(*without, p)
		default:
			return "", fmt.Errorf("%s is neither running nor rejected", p.Name)
		}
		state += fmt.Sprintf("%s %s %s\n", p.Name, p.ResourceVersion, p.Spec.NodeName)
	}
	budgets, err := s.Client.PolicyV1().PodDisruptionBudgets("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, b := range budgets.Items {
		allowed := max(0, healthy[b.Name]-int32(b.Spec.MinAvailable.IntValue()))
		if b.Status.ObservedGeneration == 0 || b.Status.CurrentHealthy != healthy[b.Name] || b.Status.DisruptionsAllowed != allowed {
			return "", fmt.Errorf("budget %s: %+v, and %d pods run", b.Name, b.Status, healthy[b.Name])
		}
	}
	return state, nil
}

// drainRequest states the cluster, and returns the Deployment of each pod.
func drainRequest(t *testing.T, s *stack.Stack, names []string) (*stowagev1.DrainRequest, map[string]string) {
	t.Helper()
	b := kube.NewBuilder(kube.Options{SchedulerName: kube.AnyScheduler, GivenOrder: true})
	all := metav1.ListOptions{}
	nodes, err := s.Client.CoreV1().Nodes().List(t.Context(), all)
	must(t, err)
	slices.SortFunc(nodes.Items, func(a, b corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	for i := range nodes.Items {
		must(t, b.AddNode(&nodes.Items[i]))
	}
	namespaces, err := s.Client.CoreV1().Namespaces().List(t.Context(), all)
	must(t, err)
	for i := range namespaces.Items {
		must(t, b.AddNamespace(&namespaces.Items[i]))
	}
	sets, err := s.Client.AppsV1().ReplicaSets("default").List(t.Context(), all)
	must(t, err)
	for i := range sets.Items {
		must(t, b.AddReplicaSet(&sets.Items[i]))
	}
	budgets, err := s.Client.PolicyV1().PodDisruptionBudgets("default").List(t.Context(), all)
	must(t, err)
	for i := range budgets.Items {
		must(t, b.AddPodDisruptionBudget(&budgets.Items[i]))
	}
	pods, err := s.Client.CoreV1().Pods("default").List(t.Context(), all)
	must(t, err)
	workloads := map[string]string{}
	for i := range pods.Items {
		must(t, b.AddPod(&pods.Items[i]))
		workloads[pods.Items[i].Name] = workload(&pods.Items[i])
	}
	snapshot, err := b.Build()
	must(t, err)
	return &stowagev1.DrainRequest{
		Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: snapshot.Cluster}},
		Nodes:   &stowagev1.CandidateNodes{Names: names}, Mode: stowagev1.DrainMode_DRAIN_MODE_TOGETHER,
	}, workloads
}

func drainAnswer(
	t *testing.T, simulation stowagev1.SimulationServiceClient, request *stowagev1.DrainRequest,
) (answer *stowagev1.NodeDrain) {
	t.Helper()
	stream, err := simulation.Drain(t.Context(), request)
	must(t, err)
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return answer
		}
		must(t, err)
		if d := part.GetDrain(); d != nil {
			answer = d
		}
	}
}

// cordoned is what kubectl cordon and the node lifecycle controller, which does not run here, do to a node.
const cordoned = `{"spec":{"unschedulable":true,"taints":[{"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"}]}}`

// drainByEvictions cordons nodes, and evicts their pods as long as the API server lets any go. As with Drain, a round evicts what
// budgets allow at its beginning, and kube-scheduler sees the replacements of a round's pods in the order of the evictions,
// once all are gone: it is stopped until then, and has other pods to attempt first.
func drainByEvictions(t *testing.T, s *stack.Stack, names []string) drained {
	t.Helper()
	for _, name := range names {
		_, err := s.Client.CoreV1().Nodes().Patch(t.Context(), name, types.MergePatchType, []byte(cordoned), metav1.PatchOptions{})
		must(t, err)
	}
	defer goneFirst(t, s)
	time.Sleep(settled)
	var out drained
	evict := func(p *corev1.Pod) error {
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: p.Name}}
		return s.Client.CoreV1().Pods("default").EvictV1(t.Context(), eviction)
	}
	for {
		out = drained{map[string]int{}, map[string]int{}}
		pods := settleOn(t, s, names)
		budgets, err := s.Client.PolicyV1().PodDisruptionBudgets("default").List(t.Context(), metav1.ListOptions{})
		must(t, err)
		left := map[string]int32{}
		for _, b := range budgets.Items {
			left[b.Name] = b.Status.DisruptionsAllowed
		}
		var kept []corev1.Pod
		s.Plain.Pause()
		goFirst(t, s)
		for _, p := range pods {
			if allowed, ok := left[workload(&p)]; ok && allowed == 0 {
				kept = append(kept, p)
				continue
			}
			left[workload(&p)]--
			must(t, evict(&p))
			eventually(t, patience, func() error { return replaced(t.Context(), s) })
		}
		s.Plain.Resume()
		if len(kept) < len(pods) {
			continue
		}
		for _, p := range kept {
			if err := evict(&p); !apierrors.IsTooManyRequests(err) {
				t.Fatalf("%s is blocked, and the API server says %v", p.Name, err)
			}
			out.blocked[workload(&p)]++
		}
		break
	}
	for _, p := range settle(t, s) {
		out.unplaced[workload(&p)]++
	}
	return out
}

// settleOn returns the pods on nodes, in the order in which Drain evicts them, once pods have settled.
func settleOn(t *testing.T, s *stack.Stack, names []string) (out []corev1.Pod) {
	t.Helper()
	settle(t, s)
	pods, err := s.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	must(t, err)
	out = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return !slices.Contains(names, p.Spec.NodeName) })
	slices.SortFunc(out, func(a, b corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Spec.NodeName, b.Spec.NodeName), cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// firstPods are in a namespace of their own, no node takes them.
const firstPods = "kube-public"

// goFirst creates pods that kube-scheduler attempts before later ones. It attempts pods while it still reads events:
// without them it could attempt the first pod of a round before it has read that the last one was evicted.
func goFirst(t *testing.T, s *stack.Stack) {
	t.Helper()
	goneFirst(t, s)
	for i := range 50 {
		p := sized(fmt.Sprintf("first-%d", i), "1", stack.PlainPods)
		p.Namespace, p.Spec.NodeSelector = firstPods, map[string]string{"of": "no-node"}
		_, err := s.Client.CoreV1().Pods(firstPods).Create(t.Context(), p, metav1.CreateOptions{})
		must(t, err)
	}
}

func goneFirst(t *testing.T, s *stack.Stack) {
	t.Helper()
	must(t, s.Client.CoreV1().Pods(firstPods).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
}

// replaced reports what is missing until Deployments have their pods, and none of them terminates.
func replaced(ctx context.Context, s *stack.Stack) error {
	deployments, err := s.Client.AppsV1().Deployments("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	pods, err := s.Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, d := range deployments.Items {
		want := int(*d.Spec.Replicas)
		for _, p := range pods.Items {
			if workload(&p) == d.Name {
				want--
			}
			if p.DeletionTimestamp != nil {
				return fmt.Errorf("%s terminates", p.Name)
			}
		}
		if want != 0 {
			return fmt.Errorf("%s lacks %d pods", d.Name, want)
		}
	}
	return nil
}
