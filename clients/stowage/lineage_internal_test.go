package stowage

import (
	"fmt"
	"slices"
	"testing"
)

func ordered(key string, replicas []string) []string {
	out := slices.Clone(replicas)
	slices.SortFunc(out, func(a, b string) int { return compareReplicas(key, a, b) })
	return out
}

// TestOrder expects that keys are spread over the replicas, and that a replica that goes changes the order of no others.
func TestOrder(t *testing.T) {
	var replicas []string
	for i := range 10 {
		replicas = append(replicas, fmt.Sprintf("10.0.0.%d:7433", i))
	}
	const keys = 2000
	first := make(map[string]int)
	for i := range keys {
		key := fmt.Sprint("cluster-", i)
		order := ordered(key, replicas)
		first[order[0]]++
		gone := order[i%len(order)]
		is := func(r string) bool { return r == gone }
		if left := ordered(key, slices.DeleteFunc(slices.Clone(replicas), is)); !slices.Equal(left, slices.DeleteFunc(order, is)) {
			t.Fatalf("without %s the order of %s is %v", gone, key, left)
		}
	}
	for _, r := range replicas {
		if n := first[r]; n < keys/20 || n > keys/5 {
			t.Errorf("%s is the first of %d of %d keys", r, n, keys)
		}
	}
}
