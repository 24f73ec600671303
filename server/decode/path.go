package decode

import (
	"strconv"
	"strings"
)

// path is a place in a request, as a chain of steps. The steps live on the stacks of the functions that decode, and
// become text only when a problem is reported: a sound request builds no strings. The request itself is nil.
type path struct {
	parent *path
	name   string // of the field, in the message's own words
	kind   stepKind
	index  int    // with stepItem
	key    string // with stepEntry
}

type stepKind uint8

const (
	stepField stepKind = iota
	stepItem
	stepEntry
)

// field is a field of the message at p.
func (p *path) field(name string) path { return path{parent: p, name: name} }

// item is an element of a repeated field of the message at p.
func (p *path) item(name string, i int) path {
	return path{parent: p, name: name, kind: stepItem, index: i}
}

// entry is an entry of a map field of the message at p.
func (p *path) entry(name, key string) path {
	return path{parent: p, name: name, kind: stepEntry, key: key}
}

// String renders the path, for example `cluster.nodes[3].labels["zone"]`.
func (p *path) String() string {
	var steps [32]*path
	n := 0
	for ; p != nil && n < len(steps); p = p.parent {
		steps[n] = p
		n++
	}
	var b strings.Builder
	for i := n - 1; i >= 0; i-- {
		s := steps[i]
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(s.name)
		switch s.kind {
		case stepItem:
			b.WriteByte('[')
			b.WriteString(strconv.Itoa(s.index))
			b.WriteByte(']')
		case stepEntry:
			b.WriteByte('[')
			b.WriteString(quote(s.key))
			b.WriteByte(']')
		}
	}
	return b.String()
}

// quote quotes what a request says, shortened so that reports stay short whatever the request.
func quote(s string) string {
	const longest = 64
	if len(s) > longest {
		return strconv.Quote(strings.ToValidUTF8(s[:longest], "")) + "..."
	}
	return strconv.Quote(s)
}
