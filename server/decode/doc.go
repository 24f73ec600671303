// Package decode validates requests and decodes them into the engine's values.
//
// It is the only reader of the contract. It fills in the contract's defaults and establishes every invariant that engine/api
// documents, so that the engine trusts its arguments. It refuses what the API server refuses. What the API server lets pods keep,
// such as selectors that kube-scheduler cannot parse, reaches the engine, which decides about it as kube-scheduler does.
//
// Each message has one reader. Most are generated from the contract (read.pb.go): the fields, their limits, and the engine's fields
// of the same names. server/protoc-gen-stowage lists the fields that need more, which methods here read.
//
// A reader reads the usual encoding: protobuf's with ascending fields and no repetition. Protobuf converts other encodings into it.
// Readers of a cluster work concurrently and find out only whether an item is valid; an invalid item is read again by a reader
// that reports problems with their paths. Unknown fields are refused.
//
// Decoding takes time and memory linear in the size of the message; limits.go bounds what the sizes of lists cannot, such as
// sums and distinct names. All problems of a request are reported together, up to a bound. Equal requests get equal reports.
//
// The functions never change the request, share no state, and may be called concurrently. The result shares strings and lists of
// strings with the request, which must not change while the result is used.
package decode
