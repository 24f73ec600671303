// Package suggest corrects misspelled names.
package suggest

import (
	"fmt"
	"iter"
)

// DidYouMean returns "; did you mean ...?" with the known name nearest to an unknown name; empty if none is near.
func DidYouMean(name string, known iter.Seq[string]) string {
	if best := Nearest(name, known); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return ""
}

// Nearest returns the known name with the fewest edits to another name, the first of equals. It is empty if the edits exceed a third of
// the letters, which makes the match unlikely, or if the name is itself known, or has only one letter, which is as near to every other.
func Nearest(name string, known iter.Seq[string]) string {
	if len(name) < 2 {
		return ""
	}
	best, least := "", max(1, len(name)/3)+1
	for k := range known {
		if k == name {
			return ""
		}
		if d := distance(name, k, least); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is the number of letters to insert, delete, replace or swap with the next one (optimal string alignment), or any number of
// at least limit if it reaches limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	earlier, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], earlier[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least >= limit+1 { // a swap may still save one
			return limit
		}
		earlier, last, row = last, row, earlier
	}
	return last[len(b)]
}
