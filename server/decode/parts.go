package decode

import (
	"math"

	"github.com/stowage-scheduler/stowage/server/wire"
)

// How far Parts receives ahead of what is taken over: until that much of it waits.
const (
	aheadBytes = 4 << 20
	aheadParts = 64
	aheadRuns  = 64
)

// Follow reports whether a part is worth that what comes after it is received while it is read.
func Follow(part wire.Pieces) bool { return part.Len() > aloneBytes }

// Parts decodes parts of a cluster as Part would one after the other, but while the next ones are received, until one of
// them is wrong. receive returns nil after the last. It is called by a goroutine of its own, which may still wait in there
// when Parts returns because of a part that is wrong. Parts are freed.
func (r *Request) Parts(field string, receive func() *wire.Request) {
	r.nodeless = nil
	readers, chunks := r.readersFor(math.MaxInt, math.MaxInt)
	p := &parts{decoder: &r.decoder, at: path{name: field}, taken: make(chan int, aheadParts)}
	p.work = newWork(chunks, aheadRuns, func() bool { return p.over() || p.wrong })
	p.items, p.nodes = p.handleItems(&p.at), p.handleNodes(&p.at)
	go func() {
		if panicked := guarded(func() { p.receive(receive) }); panicked != nil {
			p.then(func() { panic(panicked) })
		}
		close(p.work.runs)
	}()
	p.work.all(readers)
}

// parts is parts of a cluster that come.
type parts struct {
	*decoder
	at    path
	work  *work
	wrong bool // whether something is wrong with a part that is taken over

	// The rest is for who receives.
	items, nodes *handling
	place        int // of the next run
	// taken says how many bytes the next one had of the parts that are not known to be taken over, of which there are so
	// many with so many bytes.
	taken        chan int
	waiting      int
	waitingBytes int
}

// receive receives parts and hands their runs on, until there is no more or no point in more.
func (p *parts) receive(next func() *wire.Request) {
	for p.room() {
		if in := next(); in == nil || !p.part(in) {
			return
		}
	}
}

// room waits until there is room for a part.
func (p *parts) room() bool {
	for p.waiting == aheadParts || p.waitingBytes > aheadBytes {
		select {
		case bytes := <-p.taken:
			p.waiting--
			p.waitingBytes -= bytes
		case <-p.work.stopped:
			return false
		}
	}
	return true
}

// part hands on the runs of a part. What is not taken over of it after all is not freed, since others may read it.
func (p *parts) part(in *wire.Request) bool {
	bytes := in.Cluster.Len()
	p.waiting++
	p.waitingBytes += bytes
	items, nodes, wrong := cut(in.Cluster)
	if items.fields > 0 && !p.besideNodes(items) {
		return false
	}
	list := nodes.list
	if len(list) == 0 {
		list = []run{{}}
	}
	list[0].before = func() { p.grow(nodes) }
	list[len(list)-1].after = func() {
		p.endPart(&p.at, wrong)
		p.wrong = len(p.violations) > 0
		in.Free()
		p.taken <- bytes
	}
	return p.hand(list, p.nodes)
}

// besideNodes hands on the items of a part and waits until they are taken over, so that nobody reads nodes meanwhile: the
// part's nodes may refer to them, those before must not.
func (p *parts) besideNodes(items runs) bool {
	if !p.wait() || !p.hand(items.list, p.items) || !p.wait() {
		return false
	}
	p.nodes = p.handleNodes(&p.at)
	return true
}

// wait waits until everything is taken over that was handed on.
func (p *parts) wait() bool {
	reached := make(chan struct{})
	if !p.then(func() { close(reached) }) {
		return false
	}
	select {
	case <-reached:
		return true
	case <-p.work.stopped:
		return false
	}
}

// then calls f when everything is taken over that was handed on.
func (p *parts) then(f func()) bool { return p.hand([]run{{after: f}}, p.nodes) }

// hand hands runs on.
func (p *parts) hand(list []run, to *handling) bool {
	for i := range list {
		r := &list[i]
		r.of, r.place = to, p.place
		select {
		case p.work.runs <- r:
			p.place++
		case <-p.work.stopped:
			return false
		}
	}
	return true
}
