package decode

import (
	"runtime"
	"slices"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/proto/content"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// How much one chunk has, at most: it should stay in a core's cache.
const (
	chunkItems = 16
	chunkNodes = 64
	chunkBytes = 128 << 10
)

// aloneBytes is up to where one goroutine does everything.
const aloneBytes = 64 << 10

// chunk is a run of fields of a cluster, and what a reader made of them.
type chunk struct {
	*run
	panicked any // what reading it panicked with

	items []readItem
	nodes []readNode
	// shared are templates that the reader met first, which nodes that are kept refer to.
	reader int
	shared [][]byte
	drafts []engine.Draft // of sound nodes, in the nodes' places
	// What nodes consist of lies here.
	labels      []api.Label
	taints      []api.Taint
	allocatable api.Resources
	images      []api.Image
	imageNames  []string
	counts      []api.PodCount
	pods        []api.Pod
	forms       []byte
	text        []byte // what was not in one piece
}

func (c *chunk) reset() {
	c.items, c.nodes = c.items[:0], c.nodes[:0]
	c.labels, c.taints, c.allocatable = c.labels[:0], c.taints[:0], c.allocatable[:0]
	c.images, c.imageNames = c.images[:0], c.imageNames[:0]
	c.counts, c.pods, c.forms, c.text = c.counts[:0], c.pods[:0], c.forms[:0], c.text[:0]
}

// readItem is an item other than a node. Only templates and classes are read, others are only found.
type readItem struct {
	field protowire.Number
	raw   []byte
	sound bool // otherwise there is nothing else
	met   met

	template *api.PodTemplate
	class    *api.NodeClass
	form     []byte // canonical
	digest   content.Digest
}

// readItems finds the items of a chunk and reads templates and classes.
func (r *reader) readItems(c *chunk) {
	for in := c.from; len(c.items) < c.fields; {
		field, n, _ := in.Next()
		switch {
		case n < 0:
		case isItem(field):
			c.items = append(c.items, readItem{field: field, raw: in.Take(n, &c.text)})
			last := &c.items[len(c.items)-1]
			switch field {
			case clusterPodTemplates:
				last.template, last.form, last.sound = r.template(&last.met, last.raw)
			case clusterNodeClasses:
				last.class, last.form, last.sound = r.usual.class(last.raw)
				last.sound = last.sound && r.meet(&last.met, slices.Values(r.usual.scalars), slices.Values(r.usual.topologyKeys))
			}
			last.digest = content.DigestOf(last.form)
		default:
			in.Skip(n)
		}
	}
}

func isItem(field protowire.Number) bool { return field > clusterNodes && field <= clusterNodeClasses }

// runs is all fields of one sort.
type runs struct {
	list   []run
	fields int
	bytes  int
	// first stands where the first field begins, end where the last one ends.
	first, end wire.Reader
}

func (r *runs) add(from, end wire.Reader, bytes, most int) {
	if r.fields == 0 {
		r.first = from
	}
	r.end = end
	if n := len(r.list); n == 0 || r.list[n-1].fields == most || r.list[n-1].bytes+bytes > chunkBytes {
		r.list = append(r.list, run{from: from})
	}
	last := &r.list[len(r.list)-1]
	last.fields++
	last.bytes += bytes
	r.fields++
	r.bytes += bytes
}

// cut finds the fields of a cluster, up to where it is malformed.
func cut(in wire.Pieces) (items, nodes runs, malformed bool) {
	for reader := wire.NewReader(in); !reader.Done(); {
		from := *reader
		field, n, ok := reader.Next()
		if !ok {
			return items, nodes, true
		}
		if n < 0 {
			continue
		}
		if reader.Skip(n); field == clusterNodes {
			nodes.add(from, *reader, n, chunkNodes)
		} else if isItem(field) {
			items.add(from, *reader, n, chunkItems)
		}
	}
	return items, nodes, false
}

// readersFor returns as many readers as there are to be for so many bytes in so many runs, and the chunks that they take.
func (d *decoder) readersFor(bytes, runs int) ([]*reader, []*chunk) {
	workers, chunks := 1, 1
	if bytes > aloneBytes {
		if workers = min(runtime.GOMAXPROCS(0), runs, content.MaxSharers); workers > 1 {
			chunks = 2 * workers
		}
	}
	for len(d.readers) < workers {
		d.readers = append(d.readers, &reader{
			number: len(d.readers), keepForms: !d.content.AddressOnly, prepare: d.to.Preparer(),
		})
	}
	for len(d.chunks) < chunks {
		d.chunks = append(d.chunks, new(chunk))
	}
	return d.readers[:workers], d.chunks[:chunks]
}

// inOrder lets as many goroutines as can run read, each with a reader of its own, and takes over what they read in the
// order of the runs, until the decoder is over.
func (d *decoder) inOrder(of runs, how *handling) {
	if of.fields == 0 {
		return
	}
	readers, chunks := d.readersFor(of.bytes, len(of.list))
	w := newWork(chunks, len(of.list), d.over)
	for i := range of.list {
		r := &of.list[i]
		r.of, r.place = how, i
		w.runs <- r
	}
	close(w.runs)
	w.all(readers)
}

// all does the work, and returns once it is done.
func (w *work) all(readers []*reader) {
	var others sync.WaitGroup
	for _, r := range readers[1:] {
		others.Go(func() { w.do(r) })
	}
	w.do(readers[0])
	others.Wait()
	if w.panicked != nil {
		panic(w.panicked)
	}
}
