// Package content implements the contract's content addresses: the canonical form of a cluster, its address, and how a delta
// applies to it.
//
// # Canonical form
//
// The items of a cluster are its nodes, pod templates, node classes, namespaces, workload selectors, PodDisruptionBudgets and pod
// groups.
// Two items are equal if their canonical encodings are equal. The canonical encoding of a message is its protobuf encoding with
//
//   - fields in ascending order of their numbers, the members of a oneof among them, and elements of a list in order;
//   - singular fields without presence left out where they are zero, false or empty; optional fields, messages and the
//     set member of a oneof written whenever they are set;
//   - tags, lengths and integers as the shortest varints, int32 and enums sign-extended to 64 bits, lists of numbers
//     packed;
//   - the entries of a map in ascending order of their keys' bytes, no key twice, each entry with its key and its value
//     even where these are empty or zero;
//   - strings in UTF-8, and no unknown fields.
//
// Nodes are normalized. pod_counts has one entry per template_index and terminating with the sum of the counts, in ascending
// order of template_index, false before true; a sum beyond uint32 is an error. pods and nominated_pods are in ascending order of
// the bytes of the pods' canonical encodings. disrupted_pods of a PodDisruptionBudget are in ascending order, each once.
//
// Encodings that decode to equal messages have equal content: every non-zero number is true for a bool. A number that exceeds
// the 32 bits of its field has no canonical encoding, as decoders truncate it; servers reject it.
//
// Defaults are not filled in: a template with the namespace "default" differs from one without a namespace. Only
// PREEMPTION_POLICY_PREEMPT_LOWER_PRIORITY, which the API server fills in for every pod, is left out as if it were unspecified.
//
// # Content address
//
// All digests are SHA-256, 32 bytes. An item's digest is the digest of its canonical encoding. A list of items has a root:
//
//	pages = the concatenated digests of the items
//	root  = SHA-256(the number of items as 8 bytes, big-endian || the digests of the pages, in order)
//
// A page of pod templates, node classes or nodes has 256 digests, the last one may have fewer. In any other list, a page ends behind a digest
// whose first byte is below 4, so that an added or removed item changes one page or two; the last page may end behind any digest. An empty list
// has no pages. The address is
//
//	SHA-256("stowage.v1.Cluster" || a zero byte || root(pod templates) || root(node classes) || root(nodes) ||
//	        root(namespaces) || root(workload selectors))
//
// written as 64 lowercase hexadecimal digits. Nodes, templates and classes keep the order of the cluster, which indexes
// refer to. Namespaces are in ascending order of their names, workload selectors of their kind's number,
// namespace and name. Strings compare by their bytes; an empty namespace of a workload selector compares as "default".
//
// Every further list contributes only if it is not empty: the number of its field in Cluster as 8 bytes, big-endian, and its
// root, after those above and in ascending order of the numbers. So far these lists are pod_groups, storage_classes,
// csi_drivers, persistent_volumes, device_types, device_expressions, device_classes and resource_slices, in ascending order of their names,
// and pod_disruption_budgets, csi_storage_capacities, persistent_volume_claims and resource_claims, in ascending order of namespace and
// name, where an empty namespace compares as "default". What a later
// release adds to the cluster contributes in the same way, a message by the digest of its canonical encoding.
//
// A changed node therefore costs four digests: of the node, its page, the list and the cluster.
package content
