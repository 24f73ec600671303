package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/stowage-scheduler/stowage/bench/e2e/controlplane"
	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
)

// scheduler is a scheduler in the comparison.
type scheduler struct {
	name, pods string
	start      func(context.Context, *stack.Stack) error
	// hops are the parts of a pod's time.
	hops []hop
}

// result is the measurement of a scheduler on a cluster of one size.
type result struct {
	nodes     int
	scheduler *scheduler
	rates     map[string]float64       // pods a second, by kind
	waits     map[string]time.Duration // median time from a pod's creation until it is seen bound, by kind
	hops      map[string]float64       // milliseconds per pod
	processor map[string]float64       // milliseconds per pod, by process
}

// patience is how long a kind may take.
const patience = 10 * time.Minute

// measure starts a scheduler, has it bind the pods of each kind, and ends it.
func measure(ctx context.Context, c *controlplane.ControlPlane, s scheduler, commands, repository string, nodes, pods int) (result, error) {
	r := result{nodes: nodes, scheduler: &s, rates: map[string]float64{}, waits: map[string]time.Duration{}}
	st, err := stack.New(ctx, c, commands, repository)
	if err != nil {
		return r, err
	}
	defer func() {
		for _, p := range st.Processes() {
			p.Stop()
		}
	}()
	if err := s.start(ctx, st); err != nil {
		return r, err
	}
	before, err := look(ctx, st, s.hops)
	if err != nil {
		return r, err
	}
	for _, k := range kinds {
		rate, wait, err := bind(ctx, c, k, s.pods, pods)
		if err != nil {
			return r, fmt.Errorf("%s: %w", k.name, err)
		}
		r.rates[k.name], r.waits[k.name] = rate, wait
		log.Printf("%d nodes, %s, %s: %.0f pods/s, median %v", nodes, s.name, k.name, rate, wait.Round(time.Millisecond))
	}
	after, err := look(ctx, st, s.hops)
	if err != nil {
		return r, err
	}
	r.hops, r.processor = after.since(before, s.hops, float64(pods*len(kinds)))
	return r, nil
}

// bind creates pods, waits until all are bound, checks them and deletes them.
func bind(ctx context.Context, c *controlplane.ControlPlane, k kind, schedulerName string, pods int) (rate float64, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	w, err := watch(ctx, c, pods)
	if err != nil {
		return 0, 0, err
	}
	defer w.stop()
	begin := time.Now()
	err = controlplane.Parallel(ctx, pods, func(ctx context.Context, i int) error {
		p := k.pod(i, schedulerName)
		w.created(p.Name)
		_, err := c.Client.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	select {
	case <-w.all:
	case <-ctx.Done():
		return 0, 0, errors.Join(ctx.Err(), fmt.Errorf("%d of %d pods are bound", len(w.at), pods))
	}
	rate = float64(pods) / w.last().Sub(begin).Seconds()
	if err := check(ctx, c, k); err != nil {
		return 0, 0, err
	}
	now := int64(0)
	if err := c.Client.CoreV1().Pods("default").DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{}); err != nil {
		return 0, 0, err
	}
	time.Sleep(2 * time.Second) // the deletions reach everybody
	return rate, w.median(), nil
}

// check expects a kind's rule to hold.
func check(ctx context.Context, c *controlplane.ControlPlane, k kind) error {
	if k.holds == nil {
		return nil
	}
	nodes, err := c.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	zone := map[string]string{}
	for _, n := range nodes.Items {
		zone[n.Name] = n.Labels[corev1.LabelTopologyZone]
	}
	list, err := c.Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	apps := map[string]map[string]int{}
	for _, p := range list.Items {
		app := p.Labels["app"]
		if apps[app] == nil {
			apps[app] = map[string]int{}
		}
		apps[app][zone[p.Spec.NodeName]]++
	}
	for app, perZone := range apps {
		if !k.holds(perZone) {
			return fmt.Errorf("%s is violated for %s: %v", k.name, app, perZone)
		}
	}
	return nil
}

// watcher sees when pods are bound.
type watcher struct {
	stop  func()
	all   chan struct{} // closed when all are
	mutex sync.Mutex
	from  map[string]time.Time
	at    map[string]time.Time
}

func watch(ctx context.Context, c *controlplane.ControlPlane, pods int) (*watcher, error) {
	ctx, cancel := context.WithCancel(ctx)
	factory := informers.NewSharedInformerFactory(c.Client, 0)
	w := &watcher{all: make(chan struct{}), from: map[string]time.Time{}, at: map[string]time.Time{}}
	w.stop = func() { cancel(); factory.Shutdown() }
	informer := factory.Core().V1().Pods().Informer()
	see := func(o any) {
		p, ok := o.(*corev1.Pod)
		if !ok || p.Spec.NodeName == "" || p.Labels["throughput"] == "" {
			return
		}
		w.mutex.Lock()
		defer w.mutex.Unlock()
		if _, known := w.at[p.Name]; known {
			return
		}
		if w.at[p.Name] = time.Now(); len(w.at) == pods {
			close(w.all)
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, o any) { see(o) }}); err != nil {
		return nil, err
	}
	factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, ctx.Err()
	}
	return w, nil
}

func (w *watcher) created(name string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.from[name] = time.Now()
}

func (w *watcher) last() (last time.Time) {
	for _, at := range w.at {
		if at.After(last) {
			last = at
		}
	}
	return last
}

func (w *watcher) median() time.Duration {
	var all []time.Duration
	for name, at := range w.at {
		all = append(all, at.Sub(w.from[name]))
	}
	slices.Sort(all)
	return all[len(all)/2]
}
