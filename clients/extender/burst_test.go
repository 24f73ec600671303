package extender

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// bursts is how often TestBurst is run: go test -run Burst ./clients/extender -bursts 20
var bursts = flag.Int("bursts", 2, "runs of TestBurst for each way to decide")

// TestBurst calls the extender as kube-scheduler would, with 200 pods in groups whose pods exclude each other by zone or by
// host. It schedules one pod after the other, binds them concurrently, in any order and late, and has no rules of its own.
// Watchers see binds late, and some binds fail. No two pods of a group may end up in one domain, and every pod for which
// there is room must be placed.
func TestBurst(t *testing.T) {
	runs := *bursts
	if testing.Short() {
		runs = 1
	}
	for _, decide := range []Decide{AtBind, AtFilter} {
		for run := range runs {
			t.Run(fmt.Sprintf("%s/%d", decide, run), func(t *testing.T) { burst(t, decide, uint64(run)) })
		}
	}
}

const (
	burstZones   = 10
	burstNodes   = 20
	burstGroup   = 10 // pods of a group, which fills the zones or half of the nodes
	burstPods    = 200
	burstAtATime = 16
)

func burst(t *testing.T, decide Decide, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	var objects []runtime.Object
	var names []string
	for i := range burstNodes {
		name := fmt.Sprintf("node-%d", i)
		names = append(names, name)
		objects = append(objects, makeNode(name, fmt.Sprintf("z%d", i%burstZones)))
	}
	w := start(t, Options{Decide: decide, OutcomeWait: 5 * time.Millisecond}, objects...)
	w.api.late = func() time.Duration { return time.Duration(rand.IntN(200)) * time.Millisecond }
	w.api.fail = func() (error, bool) {
		if rand.IntN(20) == 0 {
			return fmt.Errorf("connection lost"), rand.IntN(2) == 0
		}
		return nil, false
	}
	w.options.UnclearFor = 50 * time.Millisecond
	var queue []*corev1.Pod
	for i := range burstPods {
		group := i / burstGroup
		key := []string{corev1.LabelTopologyZone, corev1.LabelHostname}[group%2]
		queue = append(queue, apart(makePod(fmt.Sprintf("pod-%d", i), fmt.Sprintf("group-%d", group)), key))
	}
	rng.Shuffle(len(queue), func(i, j int) { queue[i], queue[j] = queue[j], queue[i] })
	w.create(queue...)

	scheduler := &scheduler{
		w: w, nodes: names, decide: decide, slots: make(chan struct{}, burstAtATime), again: make(chan *corev1.Pod, burstPods),
	}
	scheduler.run(t, queue)
	w.api.events.Wait()

	taken := map[string]string{}
	pods, err := w.api.CoreV1().Pods("default").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		if p.Spec.NodeName == "" {
			t.Errorf("%s is not bound", p.Name)
			continue
		}
		key := p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].TopologyKey
		node, _ := w.api.CoreV1().Nodes().Get(context.Background(), p.Spec.NodeName, metav1.GetOptions{})
		domain := p.Labels["app"] + " " + node.Labels[key]
		if other := taken[domain]; other != "" {
			t.Errorf("%s and %s are both in %s", p.Name, other, domain)
		}
		taken[domain] = p.Name
	}
}

// scheduler is what an extender sees of kube-scheduler.
type scheduler struct {
	w       *world
	nodes   []string
	decide  Decide
	slots   chan struct{} // binds at a time
	again   chan *corev1.Pod
	binding sync.WaitGroup
}

func (s *scheduler) run(t *testing.T, queue []*corev1.Pod) {
	left := len(queue)
	before, since := left, time.Now() // how many were left, and since when
	var mutex sync.Mutex
	retry := func(p *corev1.Pod) {
		s.binding.Go(func() {
			time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond)
			s.again <- p
		})
	}
	for _, p := range queue {
		s.again <- p
	}
	for {
		mutex.Lock()
		now := left
		mutex.Unlock()
		if now < before {
			before, since = now, time.Now()
		}
		if now == 0 || time.Since(since) > 5*patience {
			break
		}
		var p *corev1.Pod
		select {
		case p = <-s.again:
		case <-time.After(10 * time.Millisecond):
			continue
		}
		if s.w.api.nodeOf(p) != "" { // its event has come
			mutex.Lock()
			left--
			mutex.Unlock()
			continue
		}
		node := s.schedule(p)
		if node == "" {
			retry(p)
			continue
		}
		s.slots <- struct{}{}
		s.binding.Go(func() {
			defer func() { <-s.slots }()
			time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
			if s.bind(p, node) {
				mutex.Lock()
				left--
				mutex.Unlock()
			} else {
				retry(p)
			}
		})
	}
	s.binding.Wait()
	if left > 0 {
		t.Errorf("%d pods are left over", left)
	}
}

// schedule is a scheduling cycle.
func (s *scheduler) schedule(p *corev1.Pod) string {
	found := s.w.filter(p, s.nodes...)
	if found.Error != "" || len(*found.NodeNames) == 0 {
		return ""
	}
	if len(*found.NodeNames) == 1 {
		return (*found.NodeNames)[0]
	}
	list, code := call[extenderv1.HostPriorityList](s.w, "prioritize", &extenderv1.ExtenderArgs{Pod: p, NodeNames: found.NodeNames})
	if code != http.StatusOK {
		return ""
	}
	best := list[0]
	for _, h := range list[1:] {
		if h.Score > best.Score {
			best = h
		}
	}
	return best.Host
}

// bind is a binding cycle.
func (s *scheduler) bind(p *corev1.Pod, node string) bool {
	if s.decide == AtBind {
		return s.w.bindTo(p, node) == ""
	}
	err := s.w.api.CoreV1().Pods(p.Namespace).Bind(context.Background(), &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: p.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{})
	return err == nil
}
