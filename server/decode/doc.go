// Package decode turns request messages into the engine's values and refuses what is malformed.
//
// It is the only place where requests are judged: it fills in the defaults that the contract states and establishes
// every invariant that engine/api documents, so that the engine can trust its arguments and never fails on them. It refuses
// what the API server would refuse. What the API server lets pods keep reaches the engine, which decides about it as
// kube-scheduler does, selectors that kube-scheduler cannot parse included.
//
// There is one reader of each message, and it reads the wire: reader knows the usual encoding, which is protobuf's with
// fields in order and nothing written twice. What is encoded otherwise is brought into that by protobuf and read again. Readers
// of a cluster work side by side, and only find out whether an item is sound. One that is not is read once more, by the reader
// that knows paths and reports to the request. A field that the server does not know is refused.
//
// Decoding takes time and memory linear in the size of the message; the limits of limits.go bound what the sizes of
// lists cannot (sums, distinct names). A request's problems are all reported together, up to a bound; the same
// request gets the same report.
//
// The functions never change the request, share no state, and may be called concurrently. The result shares strings
// and lists of strings with the request, which must not change while the result is used.
package decode
