package words

import (
	"fmt"
	"strings"
)

// maximumNames is the maximum length of a list of names in a line.
const maximumNames = 6

// Names lists names, the first ones if there are many.
func Names(all []string) string {
	if len(all) <= maximumNames {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:maximumNames-1], ", "), len(all)-maximumNames+1)
}

// List lists all names.
func List(all []string) string { return strings.Join(all, ", ") }

// Plural is a number of things, such as "1 pod" and "2 pods".
func Plural[N int | uint32 | uint64](n N, noun string) string { return Counted(n, noun, noun+"s") }

// Counted is a number of things, with the word for one and for several.
func Counted[N int | uint32 | uint64](n N, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

// WithCounts returns each name once, with its count.
func WithCounts(all []string) []string {
	var out []string
	counts := map[string]int{}
	for _, name := range all {
		if counts[name]++; counts[name] == 1 {
			out = append(out, name)
		}
	}
	for i, name := range out {
		if n := counts[name]; n > 1 {
			out[i] = fmt.Sprintf("%s ×%d", name, n)
		}
	}
	return out
}

// WithoutNode reports how many pods of workloads have no node for one reason.
func WithoutNode(workloads []string, pods int) string {
	if len(workloads) == 1 {
		return fmt.Sprintf("%s: %s without a node", workloads[0], Plural(pods, "pod"))
	}
	return fmt.Sprintf("%s of %d workloads without a node: %s", Plural(pods, "pod"), len(workloads), Names(workloads))
}

// Caveat completes the headline of a yes that is not sure, for the reasons; empty if there are none.
func Caveat(reasons []string) string {
	if len(reasons) == 0 {
		return ""
	}
	return ", but " + strings.Join(reasons, " and ")
}
