package kube

import (
	"cmp"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Misread is an object that does not convert, or that the server rejects: see Refuse. It does not affect other objects; what
// it occupies counts, and a node with a pod whose requests cannot be read takes no pods.
type Misread struct {
	// At is the object, as From named it.
	At string
	// Err names its fields.
	Err error
	// OwnPods says that decisions about pods of other objects do not read the fields that do not convert. Otherwise the
	// snapshot is incomplete for them.
	OwnPods bool
}

func (m *Misread) Error() string { return m.At + ": " + m.Err.Error() }

// Unwrap returns the error of the object.
func (m *Misread) Unwrap() error { return m.Err }

// duplicate is the error of an object that was added before.
type duplicate struct{ error }

func (b *Builder) once(kind, namespace, name string) error {
	key := kind + " " + namespace + "/" + name
	if b.seen[key] {
		return duplicate{fmt.Errorf("metadata.name: Duplicate value: %s %q is there already", kind, name)}
	}
	b.seen[key] = true
	return nil
}

// misread records that an object does not convert. It passes on errors of other kinds. ownPods is Misread.OwnPods.
func (b *Builder) misread(o Origin, ownPods bool, err error) error {
	if err == nil || errors.As(err, &duplicate{}) {
		return err
	}
	return b.note(b.at, o, ownPods, err)
}

func (b *Builder) note(at string, o Origin, ownPods bool, err error) *Misread {
	m := &Misread{At: cmp.Or(at, o.String()), Err: err, OwnPods: ownPods}
	b.misreads = append(b.misreads, m)
	return m
}

// misreadPods records that an object with a number of pending pods does not convert. The pods wait.
func (b *Builder) misreadPods(o Origin, pods uint32, err error) error {
	err = b.misread(o, true, err)
	if m := (*Misread)(nil); pods > 0 && errors.As(err, &m) {
		b.waiting = append(b.waiting, waits(o, pods, m.Err, m))
	}
	return err
}

// waits returns the entry of pods that do not convert.
func waits(o Origin, pods uint32, err error, m *Misread) Entry {
	return Entry{
		Pods:   &stowagev1.PendingPods{Pod: &stowagev1.Pod{Name: o.Name}, Count: new(pods)},
		Origin: o, Workload: o, Message: "not understood: " + err.Error(), Misread: m,
	}
}

// toCome is the number of pods that a workload that does not convert would create, by its replicas.
func toCome(o metav1.Object, replicas *int32) uint32 {
	switch {
	case admitted(o):
		return 0
	case replicas == nil || *replicas < 0:
		return 1
	}
	return uint32(*replicas)
}

// Close makes a node take no pods, whatever their tolerations. Its labels, taints and images, and the pods on it, still
// count.
func Close(n *stowagev1.Node) {
	n.Unschedulable, n.Allocatable = true, &stowagev1.Resources{}
}

// Bare returns a node with its labels alone: pods on it count for topology, and it takes no pods.
func Bare(n *stowagev1.Node) *stowagev1.Node {
	out := &stowagev1.Node{Name: n.Name, Labels: n.Labels}
	Close(out)
	return out
}
