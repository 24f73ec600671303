package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/stowage-scheduler/stowage/clients/extender"
)

// TestExtender is TestScheduler with a scheduler that asks the extender for nodes, and takes any of them: where the extender binds, each
// answer to Filter may be outdated by the time of the binding, and calls are lost. Where it decides at Filter, the scheduler binds,
// and the extender is not killed.
func TestExtender(t *testing.T) {
	quiet(t)
	sum := make(map[string]int)
	simulated(t, 30, func(t *testing.T, seed uint64) {
		run := func(s *scheduling) *running { return s.extend(seed) }
		for _, violation := range simulateScheduler(t, seed, nil, sum, run) {
			t.Errorf("seed %d: %s", seed, violation)
		}
	})
	happened(t, sum)
}

// extend starts an extender, and a scheduler that calls it.
func (s *scheduling) extend(seed uint64) *running {
	client, cluster := s.watch()
	decide := extender.AtBind
	if seed%4 == 1 {
		decide, s.stays = extender.AtFilter, true
	}
	e, err := extender.New(s.api, client, cluster, extender.Options{
		Log: discard, Decide: decide, OutcomeWait: time.Second, UnclearFor: 30 * time.Second,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	k := &scheduler{
		scheduling: s, extender: e.Handler(extender.Limits{Bytes: 16 << 20, Duration: time.Minute}), atFilter: decide == extender.AtFilter,
		rng: rand.New(rand.NewPCG(seed, uint64(time.Now().UnixNano()))), binding: make(map[string]bool),
	}
	return started(client, cluster, k.run)
}

// scheduler schedules one pod after the other, and binds in the background.
type scheduler struct {
	*scheduling
	extender http.Handler
	atFilter bool
	rng      *rand.Rand

	mutex   sync.Mutex
	binding map[string]bool // by name
}

func (k *scheduler) run(ctx context.Context) {
	var bindings sync.WaitGroup
	defer bindings.Wait()
	for i := 0; ctx.Err() == nil; i++ {
		often := 200 * time.Millisecond
		if k.calms() {
			often = 5 * time.Second
		}
		select {
		case <-time.After(time.Duration(k.rng.Int64N(int64(often)))):
		case <-ctx.Done():
			return
		}
		pending, nodes := k.look()
		if len(pending) == 0 {
			continue
		}
		pod := pending[i%len(pending)]
		var filtered extenderv1.ExtenderFilterResult
		if !k.call(ctx, "filter", &extenderv1.ExtenderArgs{Pod: pod, NodeNames: &nodes}, &filtered) || filtered.Error != "" ||
			filtered.NodeNames == nil || len(*filtered.NodeNames) == 0 {
			continue
		}
		if k.rng.IntN(40) == 0 {
			continue // another extender, or a plugin, rejects the pod
		}
		node := (*filtered.NodeNames)[k.rng.IntN(len(*filtered.NodeNames))]
		k.mutex.Lock()
		k.binding[pod.Name] = true
		k.mutex.Unlock()
		bindings.Go(func() {
			k.bind(ctx, pod, node)
			k.mutex.Lock()
			delete(k.binding, pod.Name)
			k.mutex.Unlock()
		})
	}
}

// calms reports whether nothing fails any more, and pods without a node are filtered less often.
func (k *scheduler) calms() bool {
	k.api.mutex.Lock()
	defer k.api.mutex.Unlock()
	return k.api.calm
}

// look returns the pods to schedule, and the names of all nodes.
func (k *scheduler) look() (pending []*corev1.Pod, nodes []string) {
	k.api.mutex.Lock()
	defer k.api.mutex.Unlock()
	k.mutex.Lock()
	defer k.mutex.Unlock()
	for _, name := range slices.Sorted(maps.Keys(k.api.pods.objects)) {
		if p := k.api.pods.objects[name].(*corev1.Pod); p.Spec.NodeName == "" && !k.binding[name] {
			pending = append(pending, p.DeepCopy())
		}
	}
	return pending, slices.Sorted(maps.Keys(k.api.nodes.objects))
}

func (k *scheduler) bind(ctx context.Context, pod *corev1.Pod, node string) {
	if k.atFilter {
		// As kube-scheduler does, it waits for the answer as long as that takes. A scheduler that gives up, and asks for another node,
		// has the pod where it is bound after all.
		_ = k.api.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}, Target: corev1.ObjectReference{Name: node},
		}, metav1.CreateOptions{}) // what has failed is scheduled again
		return
	}
	var bound extenderv1.ExtenderBindingResult
	k.call(ctx, "bind", &extenderv1.ExtenderBindingArgs{PodName: pod.Name, PodNamespace: pod.Namespace, PodUID: pod.UID, Node: node}, &bound)
}

// call calls a verb of the extender. It returns false without an answer.
func (k *scheduler) call(ctx context.Context, verb string, args, into any) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	body, err := json.Marshal(args)
	if err != nil {
		k.t.Error(err)
		return false
	}
	answer := httptest.NewRecorder()
	k.extender.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodPost, "/"+verb, bytes.NewReader(body)))
	return answer.Code == http.StatusOK && json.Unmarshal(answer.Body.Bytes(), into) == nil
}
