package simulate

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"

	"github.com/stowage-scheduler/stowage/clients/batch"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/live"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/placement"
)

// TestScheduler has the batch scheduler bind pods that come and go on nodes that come and change, while the API server and the watches
// fail, and the scheduler and its server are killed and start again.
//
// No node may get more than it has, or two pods that keep apart, at any moment: then a pod was counted twice or not at all, or a
// decision was too old. Afterwards each pod that has a node to go to is on one, and the live cluster answers as its objects do.
func TestScheduler(t *testing.T) {
	quiet(t)
	sum := make(map[string]int)
	simulated(t, 30, func(t *testing.T, seed uint64) {
		for _, violation := range simulateScheduler(t, seed, nil, sum, (*scheduling).run) {
			t.Errorf("seed %d: %s", seed, violation)
		}
	})
	happened(t, sum, "evicted")
}

// happened logs what happened in all simulations, and expects that all did.
func happened(t *testing.T, sum map[string]int, also ...string) {
	t.Log(sum)
	for _, what := range append(also, "bound", "restarted", "refused", "answer lost", "effect after the deadline", "late", "watch ended", "410 Gone") {
		if sum[what] == 0 && !testing.Short() {
			t.Errorf("never: %s", what)
		}
	}
}

// TestFaultySchedulersAreFound has a watch that never reports some pods.
func TestFaultySchedulersAreFound(t *testing.T) {
	quiet(t)
	for seed := range uint64(20) {
		var violations []string
		synctest.Test(t, func(t *testing.T) {
			violations = simulateScheduler(t, seed, func(o runtime.Object) bool {
				p, ok := o.(*corev1.Pod)
				return ok && p.Spec.NodeName != "" && len(p.UID)%2 == 0
			}, make(map[string]int), (*scheduling).run)
		})
		if len(violations) > 0 {
			return
		}
	}
	t.Error("it is not found")
}

// quiet drops what client-go logs about watches that end. One of its handlers of errors waits as well, by the time of the last error in
// the process, which is years after the time in a simulation.
func quiet(t *testing.T) {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = nil //nolint:reassign // what else reads it are informers, of which there are none yet
	t.Cleanup(func() {
		klog.LogToStderr(true)
		utilruntime.ErrorHandlers = handlers //nolint:reassign // as before
	})
}

const schedulerName = "stowage"

type scheduling struct {
	t       *testing.T
	rng     *rand.Rand // of what users do
	api     *apiServer
	network *network
	preempt bool
	stays   bool // whether the scheduler is not killed
	created int

	mutex      sync.Mutex
	violations []string
	sum        map[string]int
}

func (s *scheduling) violated(format string, args ...any) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

func (s *scheduling) count(what string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.sum[what]++
}

// simulateScheduler returns what went wrong with a scheduler that run starts. deaf selects what watches never report, nil for nothing.
func simulateScheduler(
	t *testing.T, seed uint64, deaf func(runtime.Object) bool, sum map[string]int, run func(*scheduling) *running,
) []string {
	s := &scheduling{
		t: t, rng: rand.New(rand.NewPCG(seed, 3)), api: newAPIServer(seed), network: newNetwork(seed), preempt: seed%2 == 0, sum: sum,
	}
	s.api.bound, s.api.deaf = s.bound, deaf
	for range 4 + s.rng.IntN(4) {
		s.addNode()
	}
	stopServer := s.serve()
	stop := run(s)
	for range 60 {
		time.Sleep(time.Duration(s.rng.Int64N(int64(800 * time.Millisecond))))
		switch what := s.rng.IntN(30); {
		case what == 0 && !s.stays: // killed; another one starts when its lease has ended, and what it sent has
			stop.kill()
			time.Sleep(15 * time.Second)
			stop = run(s)
			s.count("restarted")
		case what == 1:
			stopServer()
			stopServer = s.serve()
		default:
			s.use(what)
		}
	}
	s.api.mutex.Lock()
	s.api.calm = true
	s.api.mutex.Unlock()
	time.Sleep(5 * time.Minute)
	s.settled(stop.cluster, stop.client)
	stop.kill()
	time.Sleep(time.Minute)
	stopServer()
	for fault, n := range s.api.faults {
		s.sum[fault] += n
	}
	return s.violations
}

// serve starts a server without snapshots.
func (s *scheduling) serve() (stop func()) {
	g := serve(s.network.listen("server"), placement.New(64<<20, nil))
	return func() {
		s.network.down("server")
		g.Stop()
	}
}

// running is a scheduler that runs.
type running struct {
	cluster *live.Cluster
	client  *stowage.Client
	kill    func()
}

// discard is the log of what runs.
var discard = slog.New(slog.DiscardHandler)

// watch connects to the server and makes a live cluster, which does not run yet.
func (s *scheduling) watch() (*stowage.Client, *live.Cluster) {
	client, err := stowage.Dial([]string{"passthrough:///server"}, grpc.WithContextDialer(s.network.dial), stowage.WithPatience(time.Minute))
	if err != nil {
		s.t.Fatal(err)
	}
	cluster, err := live.New(s.api, client, live.Options{Log: discard, StartTimes: s.preempt})
	if err != nil {
		s.t.Fatal(err)
	}
	return client, cluster
}

// run starts a batch scheduler.
func (s *scheduling) run() *running {
	client, cluster := s.watch()
	scheduler, err := batch.New(s.api, client, cluster, batch.Options{
		SchedulerName: schedulerName, Events: noEvents{}, Log: discard, Preempt: s.preempt, TieBreak: stowagev1.TieBreak_TIE_BREAK_FEWEST_PODS,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return started(client, cluster, func(ctx context.Context) { _ = scheduler.Run(ctx, ctx) })
}

// started runs a cluster and what schedules its pods.
func started(client *stowage.Client, cluster *live.Cluster, schedule func(context.Context)) *running {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = cluster.Run(ctx) })
	all.Go(func() { schedule(ctx) })
	return &running{cluster, client, func() {
		cancel()
		all.Wait()
		time.Sleep(time.Minute) // see simulateServers
		_ = client.Close()
	}}
}

type noEvents struct{}

func (noEvents) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}

// use is something that users of the cluster do.
func (s *scheduling) use(what int) {
	s.api.mutex.Lock()
	defer s.api.mutex.Unlock()
	names := slices.Sorted(maps.Keys(s.api.pods.objects))
	switch {
	case what < 16:
		for range 1 + s.rng.IntN(3) {
			s.createPod()
		}
	case what < 24 && len(names) > 0:
		s.api.terminate(s.api.pods.objects[names[s.rng.IntN(len(names))]].(*corev1.Pod))
	case what < 26:
		s.addNode()
	default:
		names := slices.Sorted(maps.Keys(s.api.nodes.objects))
		n := s.api.nodes.objects[names[s.rng.IntN(len(names))]].DeepCopyObject().(*corev1.Node)
		n.Spec.Unschedulable = !n.Spec.Unschedulable
		s.api.set(&s.api.nodes, watch.Modified, n)
	}
}

func (s *scheduling) addNode() {
	s.created++
	name := fmt.Sprint("node-", s.created)
	s.api.set(&s.api.nodes, watch.Added, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelTopologyZone: fmt.Sprint("zone-", s.created%3),
		}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("110"),
		}},
	})
}

// createPod creates a pod. The name of one that is gone may come again.
func (s *scheduling) createPod() {
	s.created++
	name := fmt.Sprint("pod-", s.rng.IntN(40))
	if s.api.pods.objects[name] != nil {
		return
	}
	app := fmt.Sprint("app-", s.rng.IntN(3))
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID(fmt.Sprint(name, "-", s.created)), Labels: map[string]string{"app": app},
			CreationTimestamp: metav1.Now(),
		},
		Spec: corev1.PodSpec{SchedulerName: schedulerName, Priority: new(int32(s.rng.IntN(3))), Containers: []corev1.Container{{
			Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: *resource.NewQuantity(1+s.rng.Int64N(2), resource.DecimalSI),
			}},
		}}},
	}
	if s.rng.IntN(3) == 0 {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
			}},
		}}
	}
	s.api.set(&s.api.pods, watch.Added, p)
}

// bound checks what must hold of a pod that gets a node, before it is among those on it. The API server's lock is held.
func (s *scheduling) bound(p *corev1.Pod) {
	s.count("bound")
	n, ok := s.api.nodes.objects[p.Spec.NodeName].(*corev1.Node)
	if !ok {
		s.violated("%s is bound to %s, which is not there", p.Name, p.Spec.NodeName)
		return
	}
	cpu := cpuOf(p)
	apart := p.Spec.Affinity != nil
	for _, o := range s.api.pods.objects {
		other := o.(*corev1.Pod)
		if other.Spec.NodeName != p.Spec.NodeName || other.UID == p.UID {
			continue
		}
		cpu += cpuOf(other)
		if (apart || other.Spec.Affinity != nil) && other.Labels["app"] == p.Labels["app"] {
			s.violated("%s and %s keep apart, and are on %s", p.Name, other.Name, p.Spec.NodeName)
		}
	}
	if has := n.Status.Allocatable.Cpu().Value(); cpu > has {
		s.violated("%s has %d CPUs, and pods that request %d", n.Name, has, cpu)
	}
}

func cpuOf(p *corev1.Pod) int64 { return p.Spec.Containers[0].Resources.Requests.Cpu().Value() }

// settled checks what must hold when nothing has changed for long.
func (s *scheduling) settled(cluster *live.Cluster, client *stowage.Client) {
	s.api.mutex.Lock()
	b := kube.NewBuilder(kube.Options{})
	for _, name := range slices.Sorted(maps.Keys(s.api.nodes.objects)) {
		if err := b.AddNode(s.api.nodes.objects[name].(*corev1.Node)); err != nil {
			s.t.Fatal(err)
		}
	}
	var pending []*corev1.Pod
	for _, name := range slices.Sorted(maps.Keys(s.api.pods.objects)) {
		p := s.api.pods.objects[name].(*corev1.Pod)
		if p.Spec.NodeName == "" {
			pending = append(pending, p)
		}
		if err := b.AddPod(p); err != nil {
			s.t.Fatal(err)
		}
	}
	s.api.mutex.Unlock()
	anew, err := b.Build()
	if err != nil {
		s.t.Fatal(err)
	}
	reference := placement.New(1<<20, nil)
	whole := &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: anew.Cluster}, IncludeNodeNames: true}
	asked := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "asked", Namespace: "default", UID: "asked", Labels: map[string]string{"app": "app-0"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}},
	}
	for _, p := range append(pending, asked) {
		pod, err := convert.PendingPod(p)
		if err != nil {
			s.t.Fatal(err)
		}
		want, err := reference.Score(context.Background(), &stowagev1.ScoreRequest{Context: whole, Pod: pod, IncludeRejections: true})
		if err != nil {
			s.t.Fatal(err)
		}
		if p != asked && len(want.Nodes.Names) > 0 {
			s.violated("%s is pending, and %v can take it", p.Name, want.Nodes.Names)
		}
		var got *stowagev1.ScoreResponse
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		err = cluster.Ask(ctx, func(ctx context.Context, v *live.View) (err error) {
			got, err = client.Score(ctx, &stowagev1.ScoreRequest{Context: &stowagev1.DecisionContext{
				Base: &stowagev1.DecisionContext_Snapshot{Snapshot: v.Reference()}, IncludeNodeNames: true,
			}, Pod: pod, IncludeRejections: true})
			return err
		})
		cancel()
		if err != nil {
			s.violated("the live cluster does not answer: %v", err)
			return
		}
		if w, g := byName(want), byName(got); !maps.Equal(w, g) {
			s.violated("the live cluster says of %s\n%v\nits objects\n%v", p.Name, g, w)
		}
	}
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
