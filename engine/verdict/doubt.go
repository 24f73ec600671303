package verdict

import "github.com/stowage-scheduler/stowage/engine/api"

// DoubtKind is what an answer does not decide about a pod.
type DoubtKind uint8

// The kinds.
const (
	// UnreadField: the pod has a field that kube-scheduler reads and the engine does not.
	UnreadField DoubtKind = iota + 1
	// OtherScheduler: another scheduler than the profile's places the pod.
	OtherScheduler
	// SingleGroupMember: the pod is a member of a pod group and was decided as a single pod.
	SingleGroupMember
	// PreemptedForGood: the pod is preempted, and the pod that its controller creates is not placed.
	PreemptedForGood
	// AssumedReady: a PodDisruptionBudget selects the pod, which counts as ready although its readiness is unknown.
	AssumedReady
	// LimitMet: a limit ended the simulation before the pod was decided.
	LimitMet
	// DevicesUndecided: the pod was rejected from nodes because a search for devices met its limit or what it did not know.
	DevicesUndecided

	// DoubtKinds is the number of kinds, and of the zero value.
	DoubtKinds
)

// Doubt is something that an answer does not decide about a pod, or about several equal ones.
type Doubt struct {
	Kind DoubtKind
	// Pod is the pod of the request, by its entry in Queue, or the pod on a node that is evicted and created again.
	Pod PodReference
	// Unread is the field of an UnreadField.
	Unread api.UnreadField
	// Name is the scheduler of an OtherScheduler, and the group of a SingleGroupMember.
	Name string
}
