package speed

import (
	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// inline measures Filters that bring their cluster: in the compact form, stated in full, and stated in full in a stream.
func (r *run) inline() error {
	w, together := r.big, r.find(all)
	for key, c := range map[string]*stowagev1.Cluster{
		"compact": bigcluster.Compact(w.cluster), "full": bigcluster.StatedInFull(w.cluster),
	} {
		t, err := inline(c)
		if err != nil {
			return err
		}
		request, err := t.filterRequest(together.pod(0))
		if err != nil {
			return err
		}
		filter := always("filter, "+key, func() ([]byte, error) { return r.stowage.filter(request) })
		filter.check = func(_ int, answer []byte) error { return w.accepts(together, answer) }
		subjects := []*subject{r.echoed(request), filter}
		if key == "full" {
			streamed, err := r.streamed(w, c, together)
			if err != nil {
				return err
			}
			subjects = append(subjects, streamed)
		}
		times, err := r.measurement().of(subjects...)
		if err != nil {
			return err
		}
		r.setTime("echo-"+key, times[0])
		r.setRatio("inline-"+key, times[1], times[0])
		if len(subjects) > 2 {
			r.setRatio("streamed-full", times[2], times[0])
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

// streamed is a Filter of a cluster that is put first, another one each time.
func (r *run) streamed(w *world, cluster *stowagev1.Cluster, c *podCase) (*subject, error) {
	messages, err := stream(cluster)
	if err != nil {
		return nil, err
	}
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
	}, nil
}
