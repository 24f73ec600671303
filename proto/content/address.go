package content

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// Address is the content address of a cluster.
type Address [sha256.Size]byte

// Parse parses an address in the format of String and rejects any other.
func Parse(s string) (Address, error) {
	var a Address
	if len(s) != hex.EncodedLen(len(a)) {
		return Address{}, errAddress
	}
	if _, err := hex.Decode(a[:], []byte(s)); err != nil || a.String() != s {
		return Address{}, errAddress
	}
	return a, nil
}

var errAddress = errors.New("must be 64 lowercase hexadecimal digits")

// String returns the address as 64 lowercase hexadecimal digits.
func (a Address) String() string { return hex.EncodeToString(a[:]) }

// seal computes the address. All lists must be sealed.
func (c *Content) seal() {
	b := []byte("stowage.v1.Cluster\x00")
	for _, number := range [...]protowire.Number{PodTemplates, NodeClasses, Nodes, Namespaces, WorkloadSelectors} {
		b = append(b, c.lists[number].root[:]...)
	}
	for number := PodDisruptionBudgets; number < Lists; number++ {
		if l := &c.lists[number]; l.Len() > 0 {
			b = append(binary.BigEndian.AppendUint64(b, uint64(number)), l.root[:]...)
		}
	}
	c.address = sha256.Sum256(b)
}
