package content

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
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
	for i, l := range c.lists() {
		if i >= firstOptional {
			if l.Len() == 0 {
				continue
			}
			b = binary.BigEndian.AppendUint64(b, uint64(budgetsField+i-firstOptional))
		}
		b = append(b, l.root[:]...)
	}
	c.address = sha256.Sum256(b)
}

// The numbers of Cluster.pod_disruption_budgets and Cluster.pod_groups, which follow each other as in lists.
const (
	budgetsField = 6
	groupsField  = 7
)

// firstOptional is the index in lists of the first one that the address has only if it is not empty, as it has those after it.
const firstOptional = 5

// lists returns the lists in the order that the address hashes them.
func (c *Content) lists() [7]*List {
	return [...]*List{&c.templates, &c.classes, &c.nodes, &c.namespaces, &c.selectors, &c.budgets, &c.groups}
}
