package speed

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// bandwidth copies more than caches hold, on one core and on two: the limit for anything that reads much memory.
func (r *run) bandwidth() error {
	from, to := make([]byte, 256<<20), make([]byte, 256<<20)
	copying := func(n int) *subject {
		s := always("copy", func() ([]byte, error) {
			var group sync.WaitGroup
			part := len(from) / n
			for i := range n {
				group.Go(func() { copy(to[i*part:(i+1)*part], from[i*part:(i+1)*part]) })
			}
			group.Wait()
			return nil, nil
		})
		s.procs = n
		return s
	}
	t, err := r.measurement().of(copying(1), copying(2))
	if err == nil {
		r.set("bandwidth", float64(len(from))/t[0].wall.Seconds()/1e9)
		r.set("bandwidth-cores", t[0].wall.Seconds()/t[1].wall.Seconds())
	}
	return err
}

// cores compares two goroutines that do nothing but arithmetic with one, in work per time: what the machine gives, and the
// limit for anything that two cores are to do faster.
func (r *run) cores() error {
	spin := func(n int) *subject {
		s := always("arithmetic", func() ([]byte, error) {
			var group sync.WaitGroup
			for range n {
				group.Go(func() { sink.Add(arithmetic(10_000_000)) })
			}
			group.Wait()
			return nil, nil
		})
		s.procs = n
		return s
	}
	t, err := r.measurement().of(spin(1), spin(2))
	if err == nil {
		r.set("cores", 2*t[0].wall.Seconds()/t[1].wall.Seconds())
	}
	return err
}

// wake measures how long a core that has nothing to do takes to begin what another one has for it: the price of a second
// core for each thing that is shared out.
func (r *run) wake() error {
	var all []float64
	for range 200 {
		time.Sleep(2 * time.Millisecond)
		var began atomic.Int64
		start := time.Now()
		go func() { began.Store(max(1, int64(time.Since(start)))) }()
		for began.Load() == 0 && time.Since(start) < time.Second {
		}
		all = append(all, float64(began.Load())/1e3)
	}
	r.set("wake", median(all))
	return nil
}

var sink atomic.Uint64

func arithmetic(steps int) uint64 {
	x := uint64(steps)
	for range steps {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// emptyCall is the floor under every call.
func (r *run) emptyCall() *subject {
	s := r.echoed(nil)
	s.name = "empty call"
	return s
}

// calls measures calls by address on the big cluster.
func (r *run) calls() error {
	w := r.big
	together := r.find(all)
	seen, err := r.seen(w, together)
	if err != nil {
		return err
	}
	floors, err := callFloors(w, together)
	if err != nil {
		return err
	}
	defer floors.stop()
	subjects := []*subject{
		r.emptyCall(), seen, r.first(w, together), r.scored(w, together, false), r.scored(w, together, true),
		r.deltas(w, r.find(hostname), cordon), r.deltas(w, r.find(hostname), onePodMore),
	}
	calls := len(subjects)
	for _, c := range r.cases {
		subjects = append(subjects, r.both(w, c, false))
	}
	under := len(subjects)
	keys := []string{"filter-seen", "filter-first", "score-seen", "score-first"}
	subjects = append(subjects, floors.under(w, together, r.trial, keys...)...)
	t, err := r.measurement().of(subjects...)
	if err != nil {
		return err
	}
	r.setTime("empty-call", t[0])
	for i, key := range keys {
		r.setRatio(key, t[1+i], t[under+i])
		r.setTime("floor-"+key, t[under+i])
	}
	r.setTime("delta-node", t[5])
	r.setTime("delta-pod", t[6])
	r.constraints(t[calls:under])
	return nil
}

// constraints compares the dearest of the affinity and spread decisions with the plain one.
func (r *run) constraints(t []timing) {
	var worst, base timing
	for i, c := range r.cases {
		switch c.Kind {
		case plain:
			base = t[i]
		case "affinity", "anti-affinity", "spread":
			if t[i].wall > worst.wall {
				worst = t[i]
			}
		}
	}
	r.setRatio("constraints", worst, base)
}

// change is a difference to one node, by which it does not take the pod of the case "hostname anti-affinity" any more.
type change func(*stowagev1.Node) *stowagev1.ClusterDelta

func cordon(n *stowagev1.Node) *stowagev1.ClusterDelta {
	n = proto.CloneOf(n)
	n.Unschedulable = true
	return &stowagev1.ClusterDelta{Nodes: []*stowagev1.Node{n}}
}

func onePodMore(n *stowagev1.Node) *stowagev1.ClusterDelta {
	return &stowagev1.ClusterDelta{NodePods: []*stowagev1.NodePodsDelta{{
		NodeName:  n.Name,
		PodCounts: []*stowagev1.PodCount{{TemplateIndex: apartByHostname, Count: 1}},
	}}}
}

// apartByHostname is the template in bench/bigcluster of the pods that "hostname anti-affinity" keeps apart from.
const apartByHostname = 5

// deltas is a Filter on the world with a change, to another node each time, which that loses for the pod.
func (r *run) deltas(w *world, c *podCase, of change) *subject {
	var free []uint32
	for _, node := range w.want[c].feasible {
		if int(node) < len(w.nodes) {
			free = append(free, node)
		}
	}
	changed := func(n int) uint32 { return free[n%len(free)] }
	return &subject{
		name: "delta",
		prepare: func(n int) (call, error) {
			if len(free) == 0 {
				return nil, errors.New("none of the nodes that may be changed can take the pod")
			}
			t, err := byReference(w.target.address, of(w.nodes[changed(n)]))
			if err != nil {
				return nil, err
			}
			request, err := t.filterRequest(c.pod(0))
			return func() ([]byte, error) { return r.stowage.filter(request) }, err
		},
		check: func(n int, answer []byte) error { return w.accepts(c, answer, changed(n)) },
	}
}

// echoed makes an echo of a message a subject, and received a call that only receives it.
func (r *run) echoed(message []byte) *subject {
	return always("echo", func() ([]byte, error) { return nil, r.echo.Echo(context.Background(), message) })
}

func (r *run) received(message []byte) *subject {
	return always("receive", func() ([]byte, error) { return nil, r.echo.Count(context.Background(), message) })
}
