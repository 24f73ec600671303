package generate

import (
	"hash/fnv"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// draw is the state of drawing one case.
type draw struct {
	*rand.Rand
	likelihood [featureCount]float64
	c          *scenario.Case
	names      int
	extended   []corev1.ResourceName
	settled    int64

	// roomy says that nodes have room, and pods are in each other's way for other reasons; leaving is how many of the pods
	// terminate.
	roomy   bool
	leaving float64
	// crowded says that pools may have more devices than a claim can get. wanted is how many devices the pod wants that is drawn.
	crowded bool
	wanted  int
}

func newDraw(profile string, seed uint64) *draw {
	h := fnv.New64a()
	h.Write([]byte(profile))
	return &draw{
		Rand:       rand.New(rand.NewPCG(seed, h.Sum64())),
		likelihood: likelihood[profile],
		c:          &scenario.Case{},
	}
}

// chance is true with probability p.
func (d *draw) chance(p float64) bool { return d.Float64() < p }

// has draws whether the pod has the feature.
func (d *draw) has(f feature) bool { return d.chance(d.likelihood[f]) }

// focus reports whether the profile is about the feature.
func (d *draw) focus(f feature) bool { return d.likelihood[f] >= 0.25 }

// between returns an integer of low..high, both included.
func (d *draw) between(low, high int) int { return low + d.IntN(high-low+1) }

func pick[T any](d *draw, values ...T) T { return values[d.IntN(len(values))] }

// some returns each value with probability p, in order.
func some[T any](d *draw, p float64, values ...T) []T {
	var out []T
	for _, v := range values {
		if d.chance(p) {
			out = append(out, v)
		}
	}
	return out
}

func ptr[T any](v T) *T { return &v }
