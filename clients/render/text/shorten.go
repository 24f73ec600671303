package text

import "unicode/utf8"

// names are names that stand beside each other: when they are cut, what they have in common goes first.
type names struct{ prefix, suffix int } // runes in common

// Shortened cuts names that stand beside each other to a width, which is at least 4. They keep the part in which they differ.
func Shortened(all []string, width int) []string {
	n := namesOf(all)
	out := make([]string, len(all))
	for i, name := range all {
		out[i] = n.cut(name, width)
	}
	return out
}

// namesOf looks for what all names have in common. A single name has nothing in common with others.
func namesOf(all []string) names {
	if len(all) < 2 {
		return names{}
	}
	first := []rune(all[0])
	out := names{prefix: len(first), suffix: len(first)}
	for _, name := range all[1:] {
		other := []rune(name)
		out.prefix = min(out.prefix, alikeBy(first, other, func(s []rune, i int) rune { return s[i] }))
		out.suffix = min(out.suffix, alikeBy(first, other, func(s []rune, i int) rune { return s[len(s)-1-i] }))
	}
	return out
}

// alikeBy counts the runes that two names begin or end with.
func alikeBy(a, b []rune, at func([]rune, int) rune) int {
	n := 0
	for n < min(len(a), len(b)) && at(a, n) == at(b, n) {
		n++
	}
	return n
}

// cut shortens a name to a width. It keeps the part in which the names differ, then as much as there is room for of the start
// of what they have in common, and of the end last.
func (n names) cut(name string, width int) string {
	if utf8.RuneCountInString(name) <= width {
		return name
	}
	runes := []rune(name)
	prefix := min(n.prefix, len(runes))
	suffix := min(n.suffix, len(runes)-prefix)
	differs := runes[prefix : len(runes)-suffix]
	before, after := "", ""
	if prefix > 0 {
		before = "…"
	}
	if suffix > 0 {
		after = "…"
	}
	room := width - len(differs) - utf8.RuneCountInString(before+after)
	switch {
	case len(differs) == 0 || room < 0: // names differ at the end more often than at the start
		head := (width - 1) / 3
		return string(runes[:head]) + "…" + string(runes[len(runes)-(width-1-head):])
	case prefix > 0 && room >= prefix: // the ellipsis is not needed
		before, room = string(runes[:prefix]), room+1-prefix
	case prefix > 0:
		before, room = string(runes[:room])+before, 0
	}
	if suffix > 0 && room > 0 {
		after += string(runes[len(runes)-min(room, suffix-1):])
	}
	return before + string(differs) + after
}
