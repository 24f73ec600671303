package stowage

import (
	"cmp"
	"hash/fnv"
)

// LineageHeader is the header with the key of WithOwners.
const LineageHeader = "stowage-lineage"

// compareReplicas orders two addresses of replicas for a key, by the hashes of key and address (rendezvous hashing): adding or removing a
// replica does not change the order of the others.
func compareReplicas(key, a, b string) int {
	return cmp.Or(cmp.Compare(weight(key, b), weight(key, a)), cmp.Compare(a, b))
}

func weight(key, address string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key + "\x00" + address))
	x := h.Sum64() // addresses that differ in their last digit have almost equal hashes
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}
