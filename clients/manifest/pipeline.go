package manifest

import (
	"runtime"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// found is the result for one object: the object, a skipped kind, or an error.
type found struct {
	at      string
	object  *entry
	kind    string          // of the object or the skipped object
	pods    bool            // the skipped object creates pods
	decides bool            // the skipped object refuses pods, or its pods are nowhere else
	quiet   bool            // the skipped object is not counted
	typed   metav1.TypeMeta // of the skipped object
	group   *unreadGroup    // the skipped object if it is a PodGroup
	err     error
	garbled bool // err reports text that is not JSON
	// untyped is an object without a kind, which an unfinished list may imply.
	untyped []byte
}

// unreadGroup is a PodGroup of an unsupported version.
type unreadGroup struct{ namespace, name, apiVersion string }

// pipeline decodes on all cores. Results keep the order of the tasks.
type pipeline struct {
	idle    chan *decoder
	parts   []*part
	running sync.WaitGroup
	failed  atomic.Int64
	objects atomic.Int64
}

// part is the result of one task.
type part struct{ found []found }

// newPipeline returns a pipeline with copies of a decoder.
func newPipeline(as decoder) *pipeline {
	p := &pipeline{idle: make(chan *decoder, runtime.GOMAXPROCS(0))}
	for range cap(p.idle) {
		p.idle <- new(as)
	}
	return p
}

// add runs a task as soon as fewer tasks than cores are running.
func (p *pipeline) add(task func(*decoder) []found) *part {
	d, out := <-p.idle, &part{}
	p.parts = append(p.parts, out)
	p.running.Go(func() {
		defer func() { p.idle <- d }()
		out.found = task(d)
		p.failed.Add(failures(out.found))
		p.objects.Add(int64(len(out.found)))
	})
	return out
}

// fail adds an error.
func (p *pipeline) fail(at string, err error) {
	p.failed.Add(1)
	p.parts = append(p.parts, &part{[]found{{at: at, err: err}}})
}

// enough reports whether reading stops: after maximumErrors errors, or beyond MaximumObjects objects.
func (p *pipeline) enough() bool {
	return p.failed.Load() >= maximumErrors || p.objects.Load() > MaximumObjects
}

// since waits for all tasks, and returns the parts from first on.
func (p *pipeline) since(first int) []*part {
	p.running.Wait()
	return p.parts[first:]
}

// forget waits for all tasks, and drops the parts from first on.
func (p *pipeline) forget(first int) {
	for _, part := range p.since(first) {
		p.failed.Add(-failures(part.found))
		p.objects.Add(-int64(len(part.found)))
	}
	p.parts = p.parts[:first]
}

func failures(all []found) (n int64) {
	for _, f := range all {
		if f.err != nil {
			n++
		}
	}
	return n
}
