// Package manifest reads Kubernetes manifests: what kubectl prints with -o yaml or -o json, and what people apply.
//
// A file holds YAML documents or JSON values, one object or list each. Objects are decoded strictly: an unknown or
// repeated field or a bad quantity is an error that names the file, the document, the object and the field. An object
// that decodes and does not convert costs only itself, and is one of the snapshot's Misreads. Kinds that decisions do not
// read are skipped with a notice, and so are those of API groups with a domain of their own that share a name with one that
// is read.
//
// A namespace that an object is in exists, so if no manifest states it, it is taken to have only the label that the API
// server gives every namespace.
//
// All that one Reader reads may be at most MaximumBytes long. A Reader is for one goroutine.
package manifest
