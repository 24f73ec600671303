package cli

import (
	"fmt"
	"slices"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/manifest"
	"github.com/stowage-scheduler/stowage/clients/verbs"
)

// kept has the objects of the last call's files, up to the last large one: a further question about them, and about a change that is in a
// later file, reads only what differs. It has the objects of one call at most, and drops them before it reads others.
type kept struct {
	large  int      // bytes of a file that is worth it
	files  []string // identities, in order
	as     string   // how they were read
	reader *manifest.Reader
}

// Keep has the Answerer keep objects of files of so many bytes and more. Its calls have to come one after another then.
func (a *Answerer) Keep(large int) { a.kept = &kept{large: large} }

// begun returns a reader for a question, the number of its files whose objects the reader has, and a function that is called after each
// further file.
func (g *given) begun(q *question, o kube.Options) (r *manifest.Reader, files int, read func(files int)) {
	if g == nil || g.kept == nil {
		return manifest.NewReader(o), 0, func(int) {}
	}
	k, as := g.kept, fmt.Sprintf("%q %q", q.Namespace, q.Ignore)
	var of []string
	upTo := 0
	for i, path := range q.File {
		f, _ := g.files[path].(verbs.Content)
		if f.Identity == "" {
			break
		}
		if of = append(of, f.Identity); f.Bytes >= k.large {
			upTo = i + 1
		}
	}
	if n := len(k.files); k.reader != nil && k.as == as && n <= len(of) && slices.Equal(of[:n], k.files) {
		r, files = k.reader.ForkWith(o), n
	} else {
		r = manifest.NewReader(o)
		k.reader = nil
	}
	return r, files, func(files int) {
		if files == upTo {
			k.reader, k.files, k.as = r.Fork(), of[:files], as
		}
	}
}
