package board

import "slices"

// partition divides all nodes into cells.
type partition struct {
	cell     []int32  // by node
	first    []uint32 // by cell: a node
	children []child
}

type child struct {
	values []int32
	*partition
}

// divide returns the partition whose cells are the nodes that share a cell of p and a value in 0..limit-1.
func (b *Board) divide(p *partition, values []int32, limit int) *partition {
	for _, c := range p.children {
		if &c.values[0] == &values[0] || slices.Equal(c.values, values) {
			return c.partition
		}
	}
	divided := p.by(values, limit)
	b.bytes += int64(len(values)) * 4
	if len(divided.first) == len(p.first) {
		divided = p
	} else {
		b.bytes += int64(len(values)) * 4
	}
	p.children = append(p.children, child{values, divided})
	return divided
}

// denseTable bounds the size of the look-up table by cell and value.
const denseTable = 1 << 20

func (p *partition) by(values []int32, limit int) *partition {
	d := &partition{cell: make([]int32, len(values))}
	if len(p.first)*limit <= denseTable {
		table := make([]int32, len(p.first)*limit) // cells, plus one
		for n, v := range values {
			at := &table[int(p.cell[n])*limit+int(v)]
			if *at == 0 {
				d.first = append(d.first, uint32(n))
				*at = int32(len(d.first))
			}
			d.cell[n] = *at - 1
		}
		return d
	}
	table := make(map[[2]int32]int32)
	for n, v := range values {
		key := [2]int32{p.cell[n], v}
		cell, ok := table[key]
		if !ok {
			cell = int32(len(d.first))
			table[key] = cell
			d.first = append(d.first, uint32(n))
		}
		d.cell[n] = cell
	}
	return d
}

// dense numbers the values that occur; nil if there is only one.
func dense(values []int64) (numbers []int32, limit int) {
	first := values[0]
	if !slices.ContainsFunc(values, func(v int64) bool { return v != first }) {
		return nil, 0
	}
	numbers = make([]int32, len(values))
	number := make(map[int64]int32)
	for i, v := range values {
		if i > 0 && v == values[i-1] {
			numbers[i] = numbers[i-1]
			continue
		}
		at, ok := number[v]
		if !ok {
			at = int32(len(number))
			number[v] = at
		}
		numbers[i] = at
	}
	return numbers, len(number)
}
