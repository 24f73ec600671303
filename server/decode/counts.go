package decode

import (
	"encoding/binary"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stowage-scheduler/stowage/engine/api"
)

func comparePodCounts(a, b api.PodCount) int {
	switch {
	case a.Template != b.Template:
		return a.Template - b.Template
	case a.Terminating == b.Terminating:
		return 0
	case b.Terminating:
		return -1
	}
	return 1
}

// merged sorts counts and adds up those of the same pods, which fit as a node's pods have been counted.
func merged(counts []api.PodCount) []api.PodCount {
	slices.SortFunc(counts, comparePodCounts)
	out := counts[:0]
	for _, c := range counts {
		if n := len(out); n > 0 && comparePodCounts(out[n-1], c) == 0 {
			out[n-1].Count += c.Count
		} else {
			out = append(out, c)
		}
	}
	return out
}

// podCounts reads all of a node's counted pods, of which there are very many, and tells whether they are in order, none
// twice.
func (r *reader) podCounts(c *chunk, s *scan, to *readNode) (inOrder, ok bool) {
	inOrder = true
	last := uint64(0) // the place of the count before, from 1
	for {
		b := s.data[s.at:]
		if len(b) == 0 || b[0] != nodePodCounts<<3|byte(protowire.BytesType) {
			return inOrder, true
		}
		size := 0
		if len(b) > 1 {
			size = int(b[1])
		}
		// Most state an index of one or two bytes, after it a count of one, and nothing else.
		var template, count uint64
		terminating := false
		switch {
		case size == 4 && len(b) >= 6 && b[2] == 1<<3 && b[3]-1 < 0x7f && b[4] == 2<<3 && b[5] < 0x80:
			template, count = uint64(b[3]), uint64(b[5])
			s.at += 6
		case size == 5 && len(b) >= 7 && b[2] == 1<<3 && b[3] >= 0x80 && b[4]-1 < 0x7f && b[5] == 2<<3 && b[6] < 0x80:
			template, count = uint64(b[3]&0x7f)|uint64(b[4])<<7, uint64(b[6])
			s.at += 7
		default:
			s.at++
			if template, count, terminating, ok = podCount(s.bytes()); !ok {
				return false, false
			}
		}
		if count == 0 || count > MaxClusterPods || template >= uint64(len(r.pinned)) || r.pinned[template] {
			return false, false
		}
		place := 2*template + 1
		if terminating {
			place++
		}
		inOrder = inOrder && place > last
		last = place
		to.pods += count
		c.counts = append(c.counts, api.PodCount{Template: int(template), Count: int32(count), Terminating: terminating})
	}
}

func podCount(raw []byte) (template, count uint64, terminating, ok bool) {
	s := scan{data: raw}
	if s.skip(1 << 3) {
		if template = s.varint(); template == 0 {
			return 0, 0, false, false
		}
	}
	if s.skip(2 << 3) {
		count = s.varint()
	}
	if s.skip(3 << 3) {
		if terminating = s.skip(1); !terminating {
			s.fail()
		}
	}
	return template, count, terminating, !s.bad && !s.more()
}

func appendPodCount(b []byte, c api.PodCount) []byte {
	var field [3 * (1 + binary.MaxVarintLen32)]byte
	f := field[:0]
	if c.Template != 0 {
		f = protowire.AppendVarint(append(f, 1<<3), uint64(c.Template))
	}
	f = protowire.AppendVarint(append(f, 2<<3), uint64(c.Count))
	if c.Terminating {
		f = append(f, 3<<3, 1)
	}
	b = protowire.AppendTag(b, nodePodCounts, protowire.BytesType)
	return protowire.AppendBytes(b, f)
}
