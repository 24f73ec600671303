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

// keysOf returns the distinct keys of labels of the first nodes.
func (s *search) keysOf(nodes nodeset.Set) []string {
	var keys []string
	seen := make(map[string]bool)
	left := maxTriedNodes
	for n := range nodes.All() {
		if left--; left < 0 {
			break
		}
		for _, l := range s.State.Labels(n) {
			if !seen[l.Key] {
				seen[l.Key] = true
				keys = append(keys, l.Key)
			}
		}
	}
	return keys
}

// similarKeys returns the keys that may have been meant by another key, the most similar first: keys with the same name (the part
// behind the prefix; topology.kubernetes.io/zone for failure-domain.beta.kubernetes.io/zone), and keys that differ in few letters.
// keys are distinct.
func similarKeys(key string, keys []string) []string {
	distances := make(map[string]int)
	var similar []string
	for _, k := range keys {
		if distances[k] = keyDistance(key, k); k != key && distances[k] <= maxEdits {
			similar = append(similar, k)
		}
	}
	slices.SortFunc(similar, func(a, b string) int { return cmp.Or(cmp.Compare(distances[a], distances[b]), cmp.Compare(a, b)) })
	return similar[:min(len(similar), maxTriedKeys)]
}

// keyDistance returns the edit distance between the names of two keys. It returns maxEdits+1 for names that are too short for a
// comparison, or longer than valid names.
func keyDistance(a, b string) int {
	a, b = a[strings.LastIndexByte(a, '/')+1:], b[strings.LastIndexByte(b, '/')+1:]
	if a == b {
		return 0
	}
	if len(a) < minSimilar || max(len(a), len(b)) > maxLabelValue {
		return maxEdits + 1
	}
	return editDistance(strings.ToLower(a), strings.ToLower(b))
}

// maxLabelValue is the length of the longest valid label value, and of the longest name of a key.
const maxLabelValue = 63

// maxCompared bounds the values of a requirement that others are compared with.
const maxCompared = 64

// similarity is how similar a value is to the closest of others: the edits between them, and the length of their common prefix.
type similarity struct {
	value         string
	edits, prefix int
}

// similarityTo returns how similar a value is to the first of others. Those longer than valid ones are not compared: their
// distance is maxLabelValue.
func similarityTo(others []string, v string) similarity {
	closest := similarity{v, maxLabelValue, 0}
	for _, o := range others[:min(len(others), maxCompared)] {
		if max(len(o), len(v)) > maxLabelValue {
			continue
		}
		switch e, p := editDistance(o, v), commonPrefix(o, v); {
		case e < closest.edits:
			closest.edits, closest.prefix = e, p
		case e == closest.edits:
			closest.prefix = max(closest.prefix, p)
		}
	}
	return closest
}

// sortBySimilarity sorts values by their edit distance to the nearest of others. Among values of equal distance, values with the
// same beginning come first, because typing errors are rare in the first letters.
func (s *search) sortBySimilarity(values, others []string) error {
	all := make([]similarity, 0, len(values))
	for _, v := range values {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		all = append(all, similarityTo(others, v))
	}
	slices.SortFunc(all, func(a, b similarity) int {
		return cmp.Or(cmp.Compare(a.edits, b.edits), cmp.Compare(b.prefix, a.prefix), cmp.Compare(a.value, b.value))
	})
	for i := range all {
		values[i] = all[i].value
	}
	return nil
}

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
