package kube

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/suggest"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// resident is a pod on a node of the cluster.
type resident struct {
	facts facts
	spec  *stowagev1.PodSpec
	stays bool
}

// DrainRequest returns a request to drain nodes, all of the cluster if none is named. Its response names nodes.
func (s *Snapshot) DrainRequest(nodes []string) (*stowagev1.DrainRequest, error) {
	r := &stowagev1.DrainRequest{Context: s.context()}
	if len(s.Cluster.Nodes) == 0 {
		return nil, fmt.Errorf("the manifests have no nodes")
	}
	var err error
	r.Nodes, err = s.Candidates(nodes)
	return r, err
}

// Candidates returns nodes by their names, nil for none. A name may be given several times.
func (s *Snapshot) Candidates(names []string) (*stowagev1.CandidateNodes, error) {
	if len(names) == 0 {
		return nil, nil
	}
	known := map[string]bool{}
	for _, n := range s.Cluster.Nodes {
		known[n.Name] = true
	}
	out := &stowagev1.CandidateNodes{}
	var unknown []string
	for _, name := range names {
		switch {
		case !known[name]:
			unknown = append(unknown, strconv.Quote(name))
		case !slices.Contains(out.Names, name):
			out.Names = append(out.Names, name)
		}
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("there is no node %s%s", strings.Join(slices.Compact(unknown), ", "), s.otherNode(names, known))
	}
	return out, nil
}

// otherNode suggests a node for the first name that none has.
func (s *Snapshot) otherNode(names []string, known map[string]bool) string {
	i := slices.IndexFunc(names, func(name string) bool { return !known[name] })
	return suggest.DidYouMean(names[i], func(yield func(string) bool) {
		for _, n := range s.Cluster.Nodes {
			if !yield(n.GetName()) {
				return
			}
		}
	})
}

// notReady reports whether the status of a pod says that it does not run or is not ready.
func notReady(p *corev1.Pod) bool {
	r := readiness(p)
	return r == stowagev1.PodReadiness_POD_READINESS_PENDING || r == stowagev1.PodReadiness_POD_READINESS_NOT_READY
}
