package text

import "fmt"

// Tally counts pods: by name, and by what equal pods share, such as their controller. Both keep the order in which pods came.
type Tally struct {
	names, kinds []string
	ofName       map[string]int
	ofKind       map[string]int
	pods         int
}

// Add counts pods of a name and a kind.
func (t *Tally) Add(kind, name string, pods int) {
	if t.ofName == nil {
		t.ofName, t.ofKind = map[string]int{}, map[string]int{}
	}
	if t.ofName[name] == 0 {
		t.names = append(t.names, name)
	}
	if t.ofKind[kind] == 0 {
		t.kinds = append(t.kinds, kind)
	}
	t.ofName[name] += pods
	t.ofKind[kind] += pods
	t.pods += pods
}

// merge adds pods of another node.
func (t *Tally) merge(other *Tally) {
	for _, kind := range other.kinds {
		t.Add(kind, kind, other.ofKind[kind])
	}
}

// alike is the same for tallies of equal pods.
func (t *Tally) alike() string { return fmt.Sprint(t.byKind("")) }

// ByName and byKind list the pods behind a mark, each name or kind once with its count.
func (t *Tally) ByName(mark string) []string { return counted(mark, t.names, t.ofName) }
func (t *Tally) byKind(mark string) []string { return counted(mark, t.kinds, t.ofKind) }

func counted(mark string, order []string, counts map[string]int) []string {
	var out []string
	for _, name := range order {
		if n := counts[name]; n > 1 {
			name = fmt.Sprintf("%s ×%d", name, n)
		}
		out = append(out, mark+name)
	}
	return out
}
