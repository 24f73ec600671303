// Package manifest reads Kubernetes manifests: the output of kubectl with -o yaml or -o json, and files for kubectl apply.
//
// A file holds YAML documents or JSON values, one object or list each. Objects are decoded strictly: an unknown or repeated
// field or an invalid quantity is an error that names the file, the document, the object and the field. An object that
// decodes but does not convert affects only itself, and is one of the snapshot's Misreads. Kinds that decisions do not read
// are skipped, including unsupported versions, and kinds of other API groups with a known name. Skipped counts them, except for
// kinds of Kubernetes that have nothing to do with scheduling, such as ConfigMaps.
//
// customKinds lists the custom resources with complete pod templates, such as JobSets and RayClusters, and the pods that their
// controllers create. The templates are decoded strictly; other fields are not validated. If a controller adds relevant fields to
// its pods, the pods have an unread field. Kinds whose manifests do not contain the requests of their pods, such as databases of
// operators, are skipped, and SkippedWorkloads names them.
//
// A list in JSON is read item by item, and in YAML in groups of items, so that memory holds the objects and little of their
// text; all cores decode. Common values, such as the labels of a ReplicaSet's pods, are held once. Text that begins with a brace
// is JSON if its first MiB is valid JSON; otherwise it may be YAML in flow style.
//
// Files contain a cluster and manifests to apply to it. Several files may contain an object of the same kind, namespace and name.
// An object with a uid comes from a cluster, and Reader.Apply applies manifests without a uid to it; a workload then keeps the
// pods of the cluster, and more replicas are pods to place. If all or none of the objects have a uid, the last object counts.
// Notices lists these objects.
//
// The namespace of every object exists. Without a manifest, its only label is the label that the API server sets on every
// namespace.
//
// A Reader accepts at most MaximumBytes and MaximumObjects in all, counted after decompression, 8 MiB for one object, and 192 MiB
// for one YAML document. It refuses text at its first NUL byte, and files in directories that are not regular. A file takes some 1.2 times its size
// of memory: bound untrusted input with Reader.Bound. A Reader is for one goroutine.
package manifest
