package content

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestEdited changes lists of several pages, and compares them with lists that are built from their items.
func TestEdited(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		item := func(name string) []byte {
			raw, err := Append(nil, &stowagev1.StorageClass{Name: name, Provisioner: fmt.Sprint(rng.IntN(5))})
			if err != nil {
				t.Fatal(err)
			}
			return raw
		}
		want := make(unordered)
		for range rng.IntN(4 * pageSize) {
			raw := item(fmt.Sprint(rng.IntN(8 * pageSize)))
			want[namedIdentity(raw)] = raw
		}
		l := want.list()
		for step := range 6 {
			edits := make(map[identity]edit)
			for range []int{1, 3, 300}[rng.IntN(3)] {
				raw := item(fmt.Sprint(rng.IntN(8 * pageSize)))
				id := namedIdentity(raw)
				at, found := l.search(namedIdentity, id)
				e := edit{at: at, replaces: found, item: raw, id: id}
				if found && rng.IntN(2) == 0 {
					e = edit{at: at, removes: true}
				}
				edits[id] = e
			}
			var list []edit
			for id, e := range edits {
				if list = append(list, e); e.removes {
					delete(want, id)
				} else {
					want[id] = e.item
				}
			}
			before, root := l, l.root
			l = l.edited(list)
			if before.seal(); before.root != root {
				t.Fatalf("seed %d, step %d: the list before changed", seed, step)
			}
			made := slices.DeleteFunc(slices.Clone(l.pages), func(p *page) bool { return slices.Contains(before.pages, p) })
			if len(made) > 2*len(list) {
				t.Fatalf("seed %d, step %d: %d edits make %d pages", seed, step, len(list), len(made))
			}
			if built := want.list(); l.root != built.root || l.Len() != built.Len() || l.bytes != built.bytes {
				t.Fatalf("seed %d, step %d: %d items of %d bytes, want %d of %d", seed, step, l.Len(), l.bytes, built.Len(), built.bytes)
			}
		}
	}
}
