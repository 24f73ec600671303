// Package content is the content of a cluster as the contract states it: its canonical form, its address and its deltas.
//
// # Canonical form
//
// The items of a cluster are its nodes, pod templates, node classes, namespaces and workload selectors. Two items are
// equal if their canonical encodings are. The canonical encoding of a message is its protobuf encoding with
//
//   - fields in ascending order of their numbers, the members of a oneof among them, and elements of a list in order;
//   - singular fields without presence left out where they are zero, false or empty; optional fields, messages and the
//     set member of a oneof written whenever they are set;
//   - tags, lengths and integers as the shortest varints, int32 and enums sign-extended to 64 bits, lists of numbers
//     packed;
//   - the entries of a map in ascending order of their keys' bytes, no key twice, each entry with its key and its value
//     even where these are empty or zero;
//   - text in UTF-8, and nothing that the contract does not know.
//
// Order that means nothing is taken out of a node. Its pod_counts have one entry for each template_index and terminating,
// with the counts added up, in ascending order of template_index, and false before true; counts that do not fit a uint32
// are refused. Its pods are in ascending order of the bytes of their canonical encodings.
//
// Two encodings have the same content if they decode to the same messages: a bool is true whatever number it has but 0. A
// number that does not fit the 32 bits of its field has no canonical encoding, as decoders cut it; servers refuse it.
//
// Defaults are not filled in: a template that states the namespace "default" differs from one that states none.
//
// # Content address
//
// All digests are SHA-256, 32 bytes. An item's digest is that of its canonical encoding. A list of items has a root:
//
//	pages = the items' digests, one after the other, cut into pages of 256 digests, the last one maybe shorter
//	root  = SHA-256(the number of items as 8 bytes, big-endian || the digests of the pages, in order)
//
// A list without items has no pages. The address is
//
//	SHA-256("stowage.v1.Cluster" || a zero byte || root(pod templates) || root(node classes) || root(nodes) ||
//	        root(namespaces) || root(workload selectors))
//
// and is written as 64 lowercase hexadecimal digits. Nodes, templates and classes are in the order of the cluster, which
// indexes refer to. Namespaces are in ascending order of their names, workload selectors of their kind's number,
// namespace and name; text compares by its bytes, and an empty namespace of a workload selector as "default".
//
// A node that changes so costs its own digest, that of a page, and those of the list and the cluster.
package content
