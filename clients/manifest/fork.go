package manifest

import (
	"maps"
	"slices"

	"github.com/stowage-scheduler/stowage/clients/kube"
)

// Fork returns a Reader with the same objects, so that further files can be read into one of the two alone. Neither changes the
// other. The fork does not have the templates of this Reader.
func (r *Reader) Fork() *Reader { return r.ForkWith(r.options) }

// ForkWith is Fork with other options.
func (r *Reader) ForkWith(o kube.Options) *Reader {
	out := *r
	out.options, out.builder = o, kube.NewBuilder(o)
	out.unread, out.used, out.spaces = r.unread.clone(), maps.Clone(r.used), maps.Clone(r.spaces)
	out.notices, out.errs = slices.Clone(r.notices), nil
	out.entries, out.known = make([]*entry, 0, len(r.entries)), make(map[string]*entry, len(r.known))
	copies := make(map[*entry]*entry, len(r.entries))
	for _, e := range r.entries {
		c := *e
		copies[e] = &c
		out.entries = append(out.entries, &c)
	}
	for key, e := range r.known {
		out.known[key] = copies[e]
	}
	return &out
}
