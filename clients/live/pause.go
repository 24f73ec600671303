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
	// beatEvery is the interval at which a running process records that it runs.
	beatEvery = 500 * time.Millisecond
	// pauseLimit is the gap between two records that makes the informers' state count as outdated.
	pauseLimit = 3 * time.Second
	// catchUpTimeout bounds the call for one page. The number of pages has no limit.
	catchUpTimeout = time.Minute
	// catchUpPage is the number of pods in a page.
	catchUpPage = 500
)

// Elapsed is the time between two readings of the clock, by the monotonic or the wall clock, whichever shows more: the
// monotonic clock stands still while a machine is suspended, and the wall clock may be set back.
func Elapsed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}

// pulse detects pauses of the process.
type pulse struct {
	mutex   sync.Mutex
	last    time.Time
	pauses  int  // pauses so far
	read    int  // pauses that a complete read of the pods covers
	reading *try // the read in progress, or nil
}

// beat records that the process runs. It reports whether there was a pause since the pods were last read.
func (p *pulse) beat(now time.Time) (behind bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !p.last.IsZero() && Elapsed(p.last, now) > pauseLimit {
		p.pauses++
	}
	p.last = now
	return p.pauses > p.read
}

// beats records that the process runs, until the context ends.
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

// CatchUp adds the pods that other schedulers bound while this process was stopped, throttled or moved to another machine:
// informers deliver these events late. It lists all bound pods, and all resource claims if devices are read, and does nothing if the process has
// been running. Call it before each decision to bind a pod.
func (c *Cluster) CatchUp(ctx context.Context) error {
	if !c.pulse.beat(time.Now()) {
		return nil
	}
	t := c.reread(ctx)
	if t == nil {
		return nil
	}
	return t.wait(ctx, "reading the pods that were bound while this process was paused")
}

// reread returns the read in progress, starts one if needed, and returns nil if no read is needed. The read continues
// when its callers give up.
func (c *Cluster) reread(ctx context.Context) *try {
	c.pulse.mutex.Lock()
	defer c.pulse.mutex.Unlock()
	pauses := c.pulse.pauses
	if pauses == c.pulse.read || c.pulse.reading != nil {
		return c.pulse.reading
	}
	c.log.Warn("this process was paused: reading all bound pods again")
	t := &try{ended: make(chan struct{})}
	c.pulse.reading = t
	go func() {
		err := c.readBound(context.WithoutCancel(ctx))
		c.pulse.mutex.Lock()
		defer c.pulse.mutex.Unlock()
		if err == nil {
			c.pulse.read = pauses // a read that began before another pause does not cover it
		}
		t.err, c.pulse.reading = err, nil
		close(t.ended)
	}()
	return t
}

// readBound lists all bound pods, and the claims that may have got devices meanwhile.
func (c *Cluster) readBound(ctx context.Context) error {
	if c.ReadsDevices() {
		if err := c.readClaims(ctx); err != nil {
			return err
		}
	}
	o := metav1.ListOptions{FieldSelector: "spec.nodeName!=," + unendedPods, Limit: catchUpPage}
	for {
		asking, cancel := context.WithTimeout(ctx, catchUpTimeout)
		page, err := c.api.CoreV1().Pods(metav1.NamespaceAll).List(asking, o)
		cancel()
		if err != nil {
			return fmt.Errorf("reading the pods that were bound while this process was paused: %w", err)
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

// readClaims lists all resource claims.
func (c *Cluster) readClaims(ctx context.Context) error {
	o := metav1.ListOptions{Limit: catchUpPage}
	for {
		asking, cancel := context.WithTimeout(ctx, catchUpTimeout)
		page, err := c.api.ResourceV1().ResourceClaims(metav1.NamespaceAll).List(asking, o)
		cancel()
		if err != nil {
			return fmt.Errorf("reading the claims that were allocated while this process was paused: %w", err)
		}
		c.update(func(m *model) {
			for i := range page.Items {
				found := &page.Items[i]
				if known := m.devices.claims[keyOf(found)]; known == nil || known.UID != found.UID || older(known, found) {
					m.resourceClaimSet(found)
				}
			}
		})
		if o.Continue = page.Continue; o.Continue == "" {
			return nil
		}
	}
}

// foundBound adds a pod that no informer has shown yet. Unless an event confirms the pod, the Cluster reads it from the API
// server: an informer that lists again does not report the deletion of pods that it never had.
func (m *model) foundBound(o *corev1.Pod, until time.Time) {
	if known := m.pods[o.UID]; known != nil && known.node == o.Spec.NodeName || o.Spec.NodeName == "" {
		return
	}
	m.remove(o.UID)
	found := m.podOf(o, o.Spec.NodeName)
	found.assumed, found.until = true, until
	m.put(o.UID, found)
}
