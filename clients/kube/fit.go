package kube

import (
	"errors"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Counted is pods of a unit that FitRequest counts.
type Counted struct {
	// Name is the namespace and the name of the workload, or of the pod without one.
	Name string
	Pods *stowagev1.FitPod
	// Message is why kube-scheduler does not queue such pods; empty if it does.
	Message string
	// Stated is what states the pods; nil if that is not known.
	Stated *Stated
}

// Counted finds pods to count by the name of a pending pod or of a workload, with or without the namespace. Without a name, they
// are those of the only pending pod, or of the only workload if no pod is pending.
func (s *Snapshot) Counted(name string, count uint32) (*Counted, error) {
	entries, missing := s.Pending(name)
	if missing == nil {
		entry := entries[0]
		if entry.Misread != nil {
			return nil, entry.Misread
		}
		o := entry.Origin
		out := &Counted{Name: o.Namespace + "/" + o.Name, Pods: &stowagev1.FitPod{Pod: entry.Pods.Pod, Count: new(count)}, Message: entry.Message}
		if by, ok := s.StatedBy(entry); ok {
			out.Stated = &by
		}
		return out, nil
	}
	if _, none := errors.AsType[noPending](missing); !none || name == "" && len(s.Queue)+len(s.Waiting)+len(s.Others) > 0 {
		return nil, missing
	}
	w, err := s.Scalable(name)
	if err != nil {
		return nil, errors.Join(missing, err)
	}
	by := w.StatedBy(s)
	return &Counted{Name: w.Namespace + "/" + w.Name, Pods: &stowagev1.FitPod{Pod: w.Pod, Count: new(count)}, Stated: &by}, nil
}

// FitRequest returns a request to count how many units of a mix fit. Its response names nodes.
func (s *Snapshot) FitRequest(mix []*Counted) *stowagev1.FitRequest {
	r := &stowagev1.FitRequest{Context: s.context()}
	for _, c := range mix {
		r.Mix = append(r.Mix, c.Pods)
	}
	return r
}
