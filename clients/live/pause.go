package live

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// beatEvery is how often a running process notes that it runs.
	beatEvery = 500 * time.Millisecond
	// pauseLimit is how long a process may not have noted it before what its informers show counts as out of date.
	pauseLimit = 3 * time.Second
	// catchUpTimeout bounds the call that reads one page. The number of pages has no limit.
	catchUpTimeout = time.Minute
	// catchUpPage is how many pods are read by a call.
	catchUpPage = 500
)

// Elapsed is the time between two readings of the clock, by the monotonic or the wall clock, whichever shows more: the first
// stands still while a machine is suspended, the second may be set back.
func Elapsed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}

// pulse tells whether the process has been running all the time.
type pulse struct {
	mutex   sync.Mutex
	last    time.Time
	pauses  int  // how often it has not
	read    int  // after how many of them the pods have been read anew
	reading *try // nil if none is under way
}

// beat notes that the process runs, and tells whether it has not and the pods have not been read anew since.
func (p *pulse) beat(now time.Time) (behind bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !p.last.IsZero() && Elapsed(p.last, now) > pauseLimit {
		p.pauses++
	}
	p.last = now
	return p.pauses > p.read
}

// beats notes that the process runs until the context ends.
func (c *Cluster) beats(ctx context.Context) {
	for tick := time.NewTicker(beatEvery); ; {
		c.pulse.beat(time.Now())
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
	}
}

// CatchUp adds the pods that were bound while this process was stopped, throttled or moved to another machine. Informers
// deliver these events late, and other schedulers may have bound pods meanwhile. It reads all pods that are bound, and does
// nothing if the process has been running. Whoever binds pods calls it before deciding.
func (c *Cluster) CatchUp(ctx context.Context) error {
	if !c.pulse.beat(time.Now()) {
		return nil
	}
	t := c.readAnew(ctx)
	if t == nil {
		return nil
	}
	return t.wait(ctx, "reading what was bound while this process did not run")
}

// readAnew is the reading that is under way, a new one if need be, nil if none is needed any more. It goes on when those who
// wait for it do not.
func (c *Cluster) readAnew(ctx context.Context) *try {
	c.pulse.mutex.Lock()
	defer c.pulse.mutex.Unlock()
	pauses := c.pulse.pauses
	if pauses == c.pulse.read || c.pulse.reading != nil {
		return c.pulse.reading
	}
	c.log.Warn("this process has not run for a while: the pods that are bound are read anew")
	t := &try{ended: make(chan struct{})}
	c.pulse.reading = t
	go func() {
		err := c.readBound(context.WithoutCancel(ctx))
		c.pulse.mutex.Lock()
		defer c.pulse.mutex.Unlock()
		if err == nil {
			c.pulse.read = pauses // what was read before another one does not count for that
		}
		t.err, c.pulse.reading = err, nil
		close(t.ended)
	}()
	return t
}

// readBound reads all pods that are bound.
func (c *Cluster) readBound(ctx context.Context) error {
	o := metav1.ListOptions{FieldSelector: "spec.nodeName!=," + unendedPods, Limit: catchUpPage}
	for {
		asking, cancel := context.WithTimeout(ctx, catchUpTimeout)
		page, err := c.api.CoreV1().Pods(metav1.NamespaceAll).List(asking, o)
		cancel()
		if err != nil {
			return fmt.Errorf("reading what was bound while this process did not run: %w", err)
		}
		c.update(func(m *model) {
			for i := range page.Items {
				m.foundBound(&page.Items[i], time.Now().Add(c.assumeFor))
			}
		})
		if o.Continue = page.Continue; o.Continue == "" {
			return nil
		}
	}
}

// foundBound takes in a pod that no informer has shown yet. An event confirms it, or the API server is asked whether it
// is still there: an informer that begins anew does not tell of the end of pods that it never had.
func (m *model) foundBound(o *corev1.Pod, until time.Time) {
	if known := m.pods[o.UID]; known != nil && known.node == o.Spec.NodeName || o.Spec.NodeName == "" {
		return
	}
	m.remove(o.UID)
	found := m.podOf(o, o.Spec.NodeName)
	found.assumed, found.until = true, until
	m.put(o.UID, found)
}
