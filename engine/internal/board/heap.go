package board

// A heap is a binary max-heap: the entries at 2i+1 and 2i+2 are not higher than that at i.

func heapify(h []uint64) {
	for i := len(h)/2 - 1; i >= 0; i-- {
		down(h, i)
	}
}

func down(h []uint64, i int) {
	if i >= len(h) {
		return
	}
	v := h[i]
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1] > h[child] {
			child++
		}
		if h[child] <= v {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = v
}

func up(h []uint64, i int) {
	v := h[i]
	for i > 0 {
		parent := (i - 1) / 2
		if h[parent] >= v {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = v
}
