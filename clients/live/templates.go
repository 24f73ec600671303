package live

import (
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// templates are the pod templates by index. New templates are appended; renumbering drops unused templates.
type templates struct {
	list  []*stowagev1.PodTemplate
	uses  []int
	index map[string]uint32 // by deterministic encoding
	used  int               // templates in use
}

func newTemplates() templates { return templates{index: map[string]uint32{}} }

// intern returns a template's index, and adds the template if needed.
func (t *templates) intern(template *stowagev1.PodTemplate, key string) uint32 {
	i, ok := t.index[key]
	if !ok {
		i = uint32(len(t.list))
		t.index[key] = i
		t.list = append(t.list, template)
		t.uses = append(t.uses, 0)
	}
	return i
}

func (t *templates) use(i uint32, by int) {
	before := t.uses[i] > 0
	t.uses[i] += by
	if after := t.uses[i] > 0; after != before {
		t.used += map[bool]int{true: 1, false: -1}[after]
	}
}

// wasteAllowed is the number of unused templates that never cause a renumbering.
const wasteAllowed = 1000

// wasteful reports whether enough templates are unused to rebuild the base.
func (t *templates) wasteful() bool {
	return len(t.list)-t.used > max(wasteAllowed, t.used)
}

// renumbered drops unused templates; moves maps old indexes to new ones.
func (t *templates) renumbered() (out templates, moves []uint32) {
	out = newTemplates()
	moves = make([]uint32, len(t.list))
	for i, template := range t.list {
		if t.uses[i] > 0 {
			moves[i] = uint32(len(out.list))
			out.list = append(out.list, template)
			out.uses = append(out.uses, t.uses[i])
		}
	}
	for key, i := range t.index {
		if t.uses[i] > 0 {
			out.index[key] = moves[i]
		}
	}
	out.used = len(out.list)
	return out, moves
}

// encoding is the key of a template. Text that is not UTF-8 is an error.
func encoding(m proto.Message) (string, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	return string(b), err
}
