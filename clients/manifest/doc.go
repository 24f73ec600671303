// Package manifest reads Kubernetes manifests: the output of kubectl with -o yaml or -o json, and files for kubectl apply.
//
// A file holds YAML documents or JSON values, one object or list each. Objects are decoded strictly: an unknown or repeated
// field or an invalid quantity is an error that names the file, the document, the object and the field. An object that
// decodes but does not convert affects only itself, and is one of the snapshot's Misreads. Kinds that decisions do not read
// are skipped, with a notice unless they are of Kubernetes and have nothing to do with scheduling, such as ConfigMaps, including kinds of other API groups that share the name of one that is read, and other versions
// of those that are read.
//
// A table has the custom resources whose pod templates are complete, such as JobSets and RayClusters, with the pods that their
// controllers make of them. The templates are read strictly, and the other fields are not judged. Where a controller adds to its
// pods what may matter, the pods have an unread field. Kinds with pods whose manifests do not say what these request, such as
// databases of operators, are skipped, and SkippedWorkloads names them.
//
// A list in JSON is read item by item, and in YAML in groups of items, so that memory holds the objects and little of their
// text; all cores decode. Values that objects have in common, such as the labels of the pods of a ReplicaSet, are held once. What begins
// with a brace is JSON if its first MiB is, and may be YAML in flow style otherwise.
//
// Files are a cluster and what is to be applied to it. Of objects with the same kind, namespace and name in several files, one
// with a uid was read from a cluster, and those without are applied to it by Reader.Apply; its workload then has the pods
// that were read, and more replicas are pods to place. Of objects that were all read from a cluster, or none, the last counts.
// Told lists them.
//
// The namespace of an object exists. If no manifest has it, its only label is the one that the API server sets on every
// namespace.
//
// A Reader reads at most MaximumBytes and MaximumObjects in all, counted after what is compressed is unpacked, 8 MiB of one object, and 192 MiB of
// one document in YAML. What is no text is refused at its first byte that is 0; in directories, what is no regular file. So input of others takes
// less than 1 GiB of memory. A Reader is for one goroutine.
package manifest
