package manifest

import (
	"runtime"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// found is what was read of one object: the object, that its kind is not read, or what is wrong.
type found struct {
	at      string
	object  *entry
	kind    string          // of the object, or of what is skipped
	pods    bool            // what is skipped makes pods
	decides bool            // what is skipped has pods that are nowhere else, or refuses pods
	quiet   bool            // what is skipped is not told
	typed   metav1.TypeMeta // of what is skipped
	group   *unreadGroup    // what is skipped, if it is a PodGroup
	err     error
	garbled bool // err is that the text is no JSON
	// untyped is an object without a kind, which a list that is still being read may imply.
	untyped []byte
}

// unreadGroup is a PodGroup of a version that is not read.
type unreadGroup struct{ namespace, name, apiVersion string }

// pipeline decodes on all cores. What it found is in the order in which it was put in.
type pipeline struct {
	idle    chan *decoder
	parts   []*part
	running sync.WaitGroup
	failed  atomic.Int64
	objects atomic.Int64
}

// part is what one call of add found.
type part struct{ found []found }

// newPipeline returns a pipeline whose decoders begin as a decoder.
func newPipeline(as decoder) *pipeline {
	p := &pipeline{idle: make(chan *decoder, runtime.GOMAXPROCS(0))}
	for range cap(p.idle) {
		p.idle <- new(as)
	}
	return p
}

// add runs a task, once fewer tasks than cores are running.
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

// fail puts an error in.
func (p *pipeline) fail(at string, err error) {
	p.failed.Add(1)
	p.parts = append(p.parts, &part{[]found{{at: at, err: err}}})
}

// enough reports whether there are as many errors as are told, or more objects than are read.
func (p *pipeline) enough() bool {
	return p.failed.Load() >= maximumErrors || p.objects.Load() > MaximumObjects
}

// since waits for all tasks, and returns the parts from one on.
func (p *pipeline) since(first int) []*part {
	p.running.Wait()
	return p.parts[first:]
}

// forget waits for all tasks, and takes the parts from one on out.
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
