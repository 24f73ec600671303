package oracle

import (
	"sync"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/features"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// gates guards the feature gates, which belong to the process and which plugins read when they are made. Who needs
// them as they are by default holds it for reading.
var gates sync.RWMutex

// groupGates are the feature gates of pod groups, which belong to the process, and which kube-scheduler reads all the time. They
// are off without a holder.
var groupGates struct {
	lock    sync.Mutex
	free    chan struct{} // closed when there are no holders any more
	on      bool
	holders int
}

// Hold keeps the feature gates of pod groups as the case needs them, from before New to after Close. Schedulers of cases with
// groups and of cases without do not live side by side.
func Hold(c *scenario.Case) (release func(), err error) {
	g, on := &groupGates, c.Grouped()
	g.lock.Lock()
	defer g.lock.Unlock()
	for g.holders > 0 && g.on != on {
		free := g.free
		g.lock.Unlock()
		<-free
		g.lock.Lock()
	}
	set := func(on bool) error {
		if g.on == on {
			return nil
		}
		g.on = on
		return utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{
			string(features.GenericWorkload): on, string(features.TopologyAwareWorkloadScheduling): on,
		})
	}
	if err := set(on); err != nil {
		return nil, err
	}
	if g.holders == 0 {
		g.free = make(chan struct{})
	}
	g.holders++
	return func() {
		g.lock.Lock()
		defer g.lock.Unlock()
		if g.holders--; g.holders > 0 {
			return
		}
		close(g.free)
		if err := set(false); err != nil {
			panic(err)
		}
	}, nil
}

// setGates sets the process's feature gates as the case wants them until unlock is called.
func setGates(c *scenario.Config) (unlock func(), err error) {
	if !c.TolerationComparisonOperators {
		gates.RLock()
		return gates.RUnlock, nil
	}
	gates.Lock()
	set := func(on bool) error {
		return utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{string(features.TaintTolerationComparisonOperators): on})
	}
	if err := set(true); err != nil {
		gates.Unlock()
		return nil, err
	}
	return func() {
		if err := set(false); err != nil {
			panic(err)
		}
		gates.Unlock()
	}, nil
}
