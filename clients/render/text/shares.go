package text

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/fill"
)

// shares are the parts of a node's resources that pods request: CPU and memory, then extended resources such as GPUs.
type shares []named

// named is a share with the short name of its resource.
type named struct {
	name string
	span
	extended bool
}

// span is a share in percent: the least and the most of several nodes.
type span struct{ least, most int }

func (s span) String() string {
	if s.least == s.most {
		return fmt.Sprintf("%d%%", s.most)
	}
	return fmt.Sprintf("%d–%d%%", s.least, s.most)
}

func sharesOf(n *fill.Node) shares {
	var out shares
	for _, r := range Resources(n) {
		percent, _ := n.Percent(r)
		out = append(out, named{ShortResource(r), span{percent, percent}, isExtended(r)})
	}
	return out
}

// Resources are the resources of a node that pictures show, as far as it has them: CPU, memory, and extended resources.
func Resources(n *fill.Node) []corev1.ResourceName {
	out := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}
	for _, name := range slices.Sorted(maps.Keys(n.Allocatable)) {
		if isExtended(name) {
			out = append(out, name)
		}
	}
	return slices.DeleteFunc(out, func(name corev1.ResourceName) bool {
		_, ok := n.Percent(name)
		return !ok
	})
}

// isExtended reports whether a resource is one of a device plugin or the like: its name has a domain
// (pkg/apis/core/v1/helper/helpers.go IsExtendedResourceName, v1.37, which has further rules for names that nodes do not have).
func isExtended(name corev1.ResourceName) bool { return strings.Contains(string(name), "/") }

// ShortResource is what pictures call a resource: mem, or gpu for nvidia.com/gpu and for devices of the driver gpu.nvidia.com.
func ShortResource(name corev1.ResourceName) string {
	if name == corev1.ResourceMemory {
		return "mem"
	}
	if driver, of := strings.CutPrefix(string(name), fill.DevicesPrefix); of {
		short, _, _ := strings.Cut(driver, ".")
		return short
	}
	return string(name[strings.LastIndexByte(string(name), '/')+1:])
}

// requested reports whether pods of any node request CPU, memory or extended resources.
func requested(all *fill.Nodes) bool {
	for i := range all.All {
		for name, q := range all.All[i].Requested {
			if name != corev1.ResourcePods && !q.IsZero() {
				return true
			}
		}
	}
	return false
}

// with are the shares that both have, of the nodes of both.
func (s shares) with(other shares) shares {
	var out shares
	for _, a := range s {
		if i := slices.IndexFunc(other, func(b named) bool { return b.name == a.name }); i >= 0 {
			a.span = span{min(a.least, other[i].least), max(a.most, other[i].most)}
			out = append(out, a)
		}
	}
	return out
}

// most is the largest share, -1 if none is known.
func (s shares) most() int {
	out := -1
	for _, n := range s {
		out = max(out, n.most)
	}
	return out
}

// groups are the shares of each line: CPU and memory, then extended resources.
func (s shares) groups() []shares {
	var out []shares
	for _, extended := range []bool{false, true} {
		if of := slices.DeleteFunc(slices.Clone(s), func(n named) bool { return n.extended != extended }); len(of) > 0 {
			out = append(out, of)
		}
	}
	return out
}

// maximumBar is the width of the bar of a share.
const maximumBar = 10

// line writes shares in a line of at most a width: as bars if there is room, else as numbers, of the scarcest one alone if there is no
// room for all.
func (s shares) line(width int) string {
	write := func(of func(named) string) string {
		var out []string
		for _, n := range s {
			out = append(out, of(n))
		}
		return strings.Join(out, " ")
	}
	bars := func(bar int) string {
		return write(func(n named) string { return fmt.Sprintf("%s %s%4s", n.name, n.bar(bar), n.span) })
	}
	alone := !slices.ContainsFunc(s, func(n named) bool { return n.least != n.most })
	if bar := min(maximumBar, (width-utf8.RuneCountInString(bars(0)))/len(s)); bar >= 3 && alone {
		return bars(bar)
	}
	numbers := func(n named) string { return n.name + " " + n.String() }
	if all := write(numbers); utf8.RuneCountInString(all) <= width {
		return all
	}
	return numbers(slices.MaxFunc(s, func(a, b named) int { return a.most - b.most }))
}

func (s span) bar(width int) string {
	filled := min(width, s.most*width/100)
	return strings.Repeat("█", filled) + strings.Repeat("░", width-filled)
}

// text is the same for nodes that are as full.
func (s shares) text() string { return fmt.Sprint([]named(s)) }
