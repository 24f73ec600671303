package speed

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stowage-scheduler/stowage/bench/variety"
)

// How many pods of diverse queues are placed, and how many of them in the plain way. Four of these are a group.
const (
	diversePlain   = 40
	diverseSmall   = 1_000
	remedied       = 20
	remediedSmall  = 4
	jointPods      = 1_000
	jointPodsSmall = 100
)

// diverse measures queues of pods in which little repeats, by the engine alone. The first pods of each are also placed in the plain way.
func (r *run) diverse() error {
	size := variety.Size{Nodes: bigNodes, Pods: queueLength}
	remedies, joint := remedied, jointPods
	if r.Options.Small {
		size = variety.Size{Nodes: smallNodes, Pods: diverseSmall}
		remedies, joint = remediedSmall, jointPodsSmall
	}
	for _, k := range variety.Kinds {
		t, err := r.placed(k, size, diversePlain)
		if err != nil {
			return fmt.Errorf("%s: %w", k.Name, err)
		}
		r.setRate("diverse-"+k.Name, float64(size.Pods), t)
	}
	t, err := r.placed(variety.Kind{Name: "remedies", Make: variety.Remedies}, variety.Size{Nodes: size.Nodes, Pods: remedies}, 0)
	if err != nil {
		return fmt.Errorf("remedies: %w", err)
	}
	f := r.at("remedies")
	f.Value, f.Wall = t.wall.Seconds()*1000/float64(remedies), t.wall
	f.Processor = t.cpu.Seconds() * 1000 / float64(remedies)
	if t, err = r.placed(variety.Kind{Name: "joint", Make: variety.Joint}, variety.Size{Nodes: size.Nodes, Pods: joint}, 0); err != nil {
		return fmt.Errorf("joint: %w", err)
	}
	r.setTime("joint", t)
	return nil
}

// placed times a workload, and compares its first pods with the plain way.
func (r *run) placed(k variety.Kind, size variety.Size, plain int) (t timing, err error) {
	ctx := context.Background()
	compiled, err := k.Make(size).Compile(ctx)
	if err != nil {
		return t, err
	}
	place, err := compiled.Placer(ctx, size.Pods, false)
	if err != nil {
		return t, err
	}
	var fast []uint32
	took, err := measurement{turns: min(3, r.Turns), collect: true}.of(always(k.Name, func() (_ []byte, err error) {
		fast, err = place()
		return nil, err
	}))
	if err != nil {
		return t, err
	}
	if plain == 0 {
		return took[0], nil
	}
	if place, err = compiled.Placer(ctx, plain, true); err != nil {
		return t, err
	}
	slow, err := place()
	if err != nil {
		return t, err
	}
	if !slices.Equal(fast[:len(slow)], slow) {
		return t, errors.New("the plain way gives other nodes")
	}
	return took[0], nil
}
