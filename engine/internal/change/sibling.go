package change

import (
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// templateHashLabel is the label that distinguishes the ReplicaSets of a Deployment. It is the end of their names
// (pkg/controller/deployment/sync.go getNewReplicaSet, v1.37).
const templateHashLabel = "pod-template-hash"

// comesBack reports whether evicting pods of a node is futile, because their controller creates replacements that are in the pod's
// way again. This holds for siblings of the pod, which compete for the same places, for pods of a DaemonSet, which return to their
// node, and for pods of a higher priority, which kube-scheduler places before the pod.
func (s *search) comesBack(node uint32, o *cluster.Occupant) bool {
	g := s.State.Group(o.Group)
	if g.Terminating {
		return false
	}
	t := s.State.TemplateOf(o)
	var kind api.WorkloadKind
	if t != nil {
		kind = t.Controller.Kind
	} else {
		kind = s.State.Controller(node, o)
	}
	if kind == api.DaemonSet || kind != api.NoWorkload && o.Priority > s.Pod.Spec().Priority {
		return true
	}
	if t == nil {
		return false
	}
	own := s.Pod.Template
	if t.Namespace != own.Namespace || t.Controller.Kind != own.Controller.Kind {
		return false
	}
	switch own.Controller.Kind {
	case api.NoWorkload:
		return false
	case api.OtherController: // its name is unknown
		labels := s.common(g.Labels)
		return len(labels) > 0 && slices.Equal(labels, s.common(s.Pod.Shape.Labels))
	}
	return s.workload(t.Controller.Name, g.Labels) == s.workload(own.Controller.Name, s.Pod.Shape.Labels)
}

// podNameLabel is the label with a pod's own name.
const podNameLabel = "statefulset.kubernetes.io/pod-name"

// common returns the labels that a controller gives all of its pods: not their indexes, such as
// batch.kubernetes.io/job-completion-index and apps.kubernetes.io/pod-index, and names.
func (s *search) common(labels selector.Labels) selector.Labels {
	return slices.DeleteFunc(slices.Clone(labels), func(l selector.Label) bool {
		key := s.State.Symbols.Name(l.Key)
		return key == podNameLabel || strings.HasSuffix(key, "-index")
	})
}

// workload returns the name of a pod's controller, or with the hash of its template as the name's end, the name of the Deployment.
func (s *search) workload(controller string, labels selector.Labels) string {
	if hash, ok := labels.Get(s.State.Symbols.Intern(templateHashLabel)); ok {
		return strings.TrimSuffix(controller, "-"+s.State.Symbols.Name(hash))
	}
	return controller
}
