// Package lineage orders the replicas of a service for a key, so that those who know the key agree on which replicas have its
// snapshots.
package lineage

import (
	"cmp"
	"hash/fnv"
)

// Header is the header with the key of a call. The key is what stays while a cluster changes, such as its name.
const Header = "stowage-lineage"

// Compare orders two addresses of replicas for a key, by the hashes of key and address (rendezvous hashing): a replica that comes or
// goes changes the order of no others.
func Compare(key, a, b string) int {
	return cmp.Or(cmp.Compare(weight(key, b), weight(key, a)), cmp.Compare(a, b))
}

func weight(key, address string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key + "\x00" + address))
	x := h.Sum64() // addresses that differ in their last digit have hashes that hardly do
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}
