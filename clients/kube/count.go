package kube

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/kube/controller"
)

// What pods count as in Options.Room: each has an entry in the answer, and pods that differ from others one in the queue and a pod of their own.
const (
	podBytes   = 128
	entryBytes = 1 << 10
)

// size is the size of an object in Protocol Buffers, which is near what it takes in memory. It is 0 in browsers, whose types of Kubernetes have no
// Protocol Buffers: nothing bounds memory there.
func size(o any) int {
	if s, ok := o.(interface{ Size() int }); ok {
		return s.Size()
	}
	return 0
}

// room counts the pods that workloads become.
type room struct {
	of  func(bytes int64) error // nil for no bound
	err error                   // is final
}

// noRoomError is an error of Options.Room: the pods are not misread, and no other pods are added.
type noRoomError struct{ error }

func (e noRoomError) Unwrap() error { return e.error }

// take counts pods.
func (r *room) take(stamps ...controller.Stamp) error {
	if r.of == nil || r.err != nil {
		return r.err
	}
	var bytes int64
	for _, s := range stamps {
		bytes += podBytes*int64(s.Count) + entryBytes + int64(size(s.Pod))
	}
	return r.reserve(bytes)
}

func (r *room) reserve(bytes int64) error {
	if r.of == nil || r.err != nil {
		return r.err
	}
	if err := r.of(bytes); err != nil {
		r.err = noRoomError{err}
	}
	return r.err
}

// Reserve reserves room for copies of each of the objects, before the caller makes and adds them.
func (b *Builder) Reserve(copies int, objects ...metav1.Object) error {
	var bytes int64
	for _, o := range objects {
		bytes += entryBytes + int64(size(o))
	}
	return b.room.reserve(int64(copies) * bytes)
}

// noRoom reports whether an error is of Options.Room.
func noRoom(err error) bool { return errors.As(err, &noRoomError{}) }

// atOnce is the number of copies of a template that are made before they are counted.
func atOnce(t *corev1.PodTemplateSpec) int { return max(1, (64<<20)/max(size(t), 1<<10)) }

// Full reports whether there is no room for the pods of an object that was added. Build returns the error.
func (b *Builder) Full() bool { return b.room.err != nil }
