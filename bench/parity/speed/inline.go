package speed

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
)

// inline measures Filters that contain their cluster: in the compact form, in full, and in full as a stream.
func (r *run) inline() error {
	w, together := r.big, r.find(all)
	for _, key := range []string{"compact", "full"} {
		request, messages, err := wireForms(w.size, key, together)
		if err != nil {
			return err
		}
		floors, err := serveFloors(map[string]work{"digest": digest})
		if err != nil {
			return err
		}
		defer floors.stop()
		subjects := []*subject{
			r.echoed(request), r.received(request),
			floors.of("digest", func() ([]byte, error) { return request, nil }), r.whole(w, together, request),
		}
		last, lastKey := r.newTemplates(w, request, together), "inline-compact-new"
		if key == "full" {
			last, lastKey = r.streamed(w, messages, together), "streamed-full"
		}
		subjects = append(subjects, last)
		times, err := r.measurement().of(subjects...)
		if err != nil {
			return err
		}
		r.setTime("echo-"+key, times[0])
		r.setTime("receive-"+key, times[1])
		r.setTime("digest-"+key, times[2])
		for i, name := range []string{"inline-" + key, lastKey} {
			r.setRatio(name, times[3+i], times[2])
			r.setRatio(name+"-received", times[3+i], times[1])
		}
		peak, err := peakHeap(func() error {
			_, err := r.stowage.filter(request)
			return err
		})
		if err != nil {
			return err
		}
		r.set("peak-"+key, float64(peak)/float64(len(request)))
	}
	return nil
}

// whole is a Filter of a case that brings the world's cluster.
func (r *run) whole(w *world, c *podCase, request []byte) *subject {
	s := always("filter, "+c.Name+", cluster in the request", func() ([]byte, error) { return r.stowage.filter(request) })
	s.check = func(_ int, answer []byte) error { return w.accepts(c, answer) }
	return s
}

// A template in the compact form says which trial it is for.
const (
	trialLabel = "example.com/trial"
	noTrial    = "000000000"
)

// newTemplates is a Filter with the cluster in the request. One template of the cluster is new each time.
func (r *run) newTemplates(w *world, request []byte, c *podCase) *subject {
	at := bytes.Index(request, []byte(noTrial))
	return &subject{
		name: "filter, new templates",
		prepare: func(int) (call, error) {
			if at < 0 {
				return nil, errors.New("no template says which trial it is for")
			}
			trial := slices.Clone(request)
			copy(trial[at:], fmt.Sprintf("%0*d", len(noTrial), r.trial()))
			return func() ([]byte, error) { return r.stowage.filter(trial) }, nil
		},
		check: func(_ int, answer []byte) error { return w.accepts(c, answer) },
	}
}

// wireForms are a Filter with the cluster in a form, and the stream that puts it. The cluster itself is not kept.
func wireForms(nodes int, form string, c *podCase) (request []byte, messages [][]byte, err error) {
	cluster := newCluster(nodes)
	if form == "full" {
		cluster = bigcluster.StatedInFull(cluster)
	} else {
		cluster = bigcluster.Compact(cluster)
		cluster.PodTemplates[0].Labels[trialLabel] = noTrial
	}
	t, err := inline(cluster)
	if err != nil {
		return nil, nil, err
	}
	if request, err = t.filterRequest(c.pod(0)); err != nil {
		return nil, nil, err
	}
	messages, err = stream(cluster)
	return request, messages, err
}

// streamed is a Filter of a cluster that is put first, another one each time.
func (r *run) streamed(w *world, messages [][]byte, c *podCase) *subject {
	return &subject{
		name: "put and filter",
		prepare: func(int) (call, error) {
			all, err := ended(messages, r.trial())
			return func() ([]byte, error) {
				t, err := r.stowage.put(all)
				if err != nil {
					return nil, err
				}
				request, err := t.filterRequest(c.pod(0))
				if err != nil {
					return nil, err
				}
				return r.stowage.filter(request)
			}, err
		},
		check: func(_ int, answer []byte) error { return w.accepts(c, answer) },
	}
}
