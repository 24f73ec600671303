package joint

// cycle is a number of moves of repair.
const cycle = 1 << 14

// repair moves and swaps pods until no node is overloaded, and reports whether it succeeded within a number of moves. A move may
// raise the overload by less than a threshold, which falls to 0.
func (p *packer) repair(budget *Budget, moves int) bool {
	const batch = 256
	for move := range moves {
		if p.overs == 0 {
			return true
		}
		if move%batch == 0 && !budget.Spend(batch) {
			return false
		}
		i := p.inside[p.random(len(p.inside))]
		if p.random(2) == 0 { // prefer a pod of an overloaded node
			for range 4 {
				if p.over[p.at[i]] > 0 {
					break
				}
				i = p.inside[p.random(len(p.inside))]
			}
		}
		threshold := 0.08 * float64(moves-move) / float64(moves) * float64(p.random(1024)) / 1024
		from := p.at[i]
		switch kind := p.random(8); {
		case kind < 2: // to another node
			n := p.random(len(p.nodes))
			if n != from && p.fitsAlone(i, n) &&
				p.overload(n, i, outside)-p.over[n]+p.overload(from, outside, i)-p.over[from] <= threshold {
				p.put(i, n)
			}
		case kind < 7: // swap two pods
			j := p.inside[p.random(len(p.inside))]
			n := p.at[j]
			if n != from && p.fitsAlone(i, n) && p.fitsAlone(j, from) &&
				p.overload(n, i, j)-p.over[n]+p.overload(from, j, i)-p.over[from] <= threshold {
				p.put(i, n)
				p.put(j, from)
			}
		default: // with a pod outside
			out := p.out[p.pods[i].tier]
			if len(out) == 0 {
				continue
			}
			j := out[p.random(len(out))]
			if p.fitsAlone(j, from) && p.overload(from, j, i)-p.over[from] <= threshold {
				p.put(i, outside)
				p.put(j, from)
			}
		}
	}
	return false
}

// random returns a number below n. The same search draws the same numbers.
func (p *packer) random(n int) int {
	p.draws += 0x9e3779b97f4a7c15
	x := p.draws
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int((x ^ x>>31) >> 33 * uint64(n) >> 31)
}
