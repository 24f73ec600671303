package work

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
)

// No input makes an estimate smaller, each makes some larger, and none makes it zero or negative.
func TestMonotone(t *testing.T) {
	if (Size{}).Estimate() <= 0 {
		t.Error("nothing costs nothing")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	larger := map[string]bool{}
	for range 20_000 {
		var s Size
		v := reflect.ValueOf(&s).Elem()
		for _, f := range v.Fields() {
			if rng.IntN(3) > 0 {
				f.SetInt(rng.Int64N(1 << rng.IntN(31)))
			}
		}
		before := s.Estimate()
		field := rng.IntN(v.NumField())
		was := v.Field(field).Int()
		v.Field(field).SetInt(was + 1 + rng.Int64N(1<<rng.IntN(31)))
		after := s.Estimate()
		name := v.Type().Field(field).Name
		if before <= 0 || after < before {
			t.Fatalf("%s from %d: %v, then %v of %+v", name, was, before, after, s)
		}
		larger[name] = larger[name] || after > before
	}
	for f := range reflect.TypeFor[Size]().Fields() {
		if !larger[f.Name] {
			t.Errorf("%s does not matter", f.Name)
		}
	}
}

// Estimates do not overflow, whatever limits allow.
func TestLargest(t *testing.T) {
	var s Size
	v := reflect.ValueOf(&s).Elem()
	for _, f := range v.Fields() {
		f.SetInt(1 << 62)
	}
	if s.Estimate() != longest {
		t.Errorf("got %v", s.Estimate())
	}
}

func spread(n int) *api.Pod {
	p := &api.Pod{Template: &api.PodTemplate{}}
	for range n {
		p.Template.Spec.Spread = append(p.Template.Spec.Spread, api.TopologySpreadConstraint{MaxSkew: 1})
	}
	return p
}

// A queue of a million pods with three constraints is large, though its request has 154 bytes.
func TestHostilePlace(t *testing.T) {
	place := func(pods, constraints int) time.Duration {
		s := Size{Nodes: 5000, Pods: 150_000}
		s.Queue([]engine.Pending{{Pod: *spread(constraints), Count: pods}})
		return s.Estimate()
	}
	if hostile := place(1_000_000, 3); hostile < 10*time.Second {
		t.Errorf("estimated at %v", hostile)
	}
	if usual := place(10, 1); usual > 10*time.Millisecond {
		t.Errorf("a small queue is estimated at %v", usual)
	}
}

// Each rule of a pod counts.
func TestRules(t *testing.T) {
	term := api.PodAffinityTerm{}
	for name, c := range map[string]struct {
		change        func(*api.PodSpec)
		all, counting int64
	}{
		"none":   {func(*api.PodSpec) {}, 0, 0},
		"spread": {func(s *api.PodSpec) { s.Spread = make([]api.TopologySpreadConstraint, 3) }, 3, 3},
		"affinity": {func(s *api.PodSpec) {
			s.PodAffinity = &api.PodAffinity{Required: []api.PodAffinityTerm{term}, Preferred: make([]api.WeightedPodAffinityTerm, 2)}
		}, 3, 3},
		"anti-affinity": {func(s *api.PodSpec) {
			s.PodAntiAffinity = &api.PodAffinity{Required: []api.PodAffinityTerm{term, term}}
		}, 2, 2},
		"selector": {func(s *api.PodSpec) { s.NodeSelector = make(api.Labels, 4) }, 4, 0},
		"node affinity": {func(s *api.PodSpec) {
			s.NodeAffinity = &api.NodeAffinity{
				Required: &api.NodeSelector{Terms: make([]api.NodeSelectorTerm, 2)}, Preferred: make([]api.PreferredNodeTerm, 3),
			}
		}, 5, 0},
		"ports": {func(s *api.PodSpec) { s.Containers = []api.Container{{HostPorts: make([]api.HostPort, 2)}, {}} }, 2, 0},
	} {
		p := spread(0)
		c.change(&p.Template.Spec)
		if all, counting := rules(p); all != c.all || counting != c.counting {
			t.Errorf("%s: %d rules, %d of them count, want %d and %d", name, all, counting, c.all, c.counting)
		}
	}
	if all, _ := rules(nil); all != 0 {
		t.Error("no pod has rules")
	}
}
