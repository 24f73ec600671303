package change

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// maxEdits is the number of edits up to which keys are similar, in names of at least minSimilar bytes.
const (
	maxEdits   = 2
	minSimilar = 5
)

// similarKeys returns the keys of labels of the first nodes that may have been meant by another key, the most similar first: those
// with the same name, which is what follows the prefix, such as topology.kubernetes.io/zone for
// failure-domain.beta.kubernetes.io/zone, and those that differ in few letters.
func (s *search) similarKeys(key string, nodes nodeset.Set) []string {
	distances := make(map[string]int)
	left := maxTriedNodes
	for n := range nodes.All() {
		if left--; left < 0 {
			break
		}
		for _, l := range s.State.Labels(n) {
			if _, known := distances[l.Key]; !known {
				distances[l.Key] = keyDistance(key, l.Key)
			}
		}
	}
	var keys []string
	for k, distance := range distances {
		if k != key && distance <= maxEdits {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(distances[a], distances[b]), cmp.Compare(a, b)) })
	return keys[:min(len(keys), maxTriedKeys)]
}

// keyDistance returns how many edits lead from the name of one key to that of another, maxEdits+1 for names that are too short to
// tell.
func keyDistance(a, b string) int {
	a, b = a[strings.LastIndexByte(a, '/')+1:], b[strings.LastIndexByte(b, '/')+1:]
	if a == b {
		return 0
	}
	if len(a) < minSimilar {
		return maxEdits + 1
	}
	return editDistance(strings.ToLower(a), strings.ToLower(b))
}

// sortBySimilarity sorts values, those first that are the fewest edits away from one of others. Of these, those come first that begin
// as it does: typing errors are seldom in the first letters.
func sortBySimilarity(values, others []string) {
	closest := func(v string) (edits, prefix int) {
		edits = maxLabelValue
		for _, o := range others {
			switch e, p := editDistance(o, v), commonPrefix(o, v); {
			case e < edits:
				edits, prefix = e, p
			case e == edits:
				prefix = max(prefix, p)
			}
		}
		return edits, prefix
	}
	slices.SortFunc(values, func(a, b string) int {
		x, p := closest(a)
		y, q := closest(b)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(q, p), cmp.Compare(a, b))
	})
}

// maxLabelValue is the length of the longest label value.
const maxLabelValue = 63

func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// editDistance returns the number of bytes to insert, delete or replace that lead from a to b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
