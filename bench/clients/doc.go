// Package clients holds the clients in other languages to the corpora that the server is held to: the examples, the cases of pods that are
// pending, and kube-scheduler's recorded answers. A client is a driver, a process that calls a server: a line of its standard input is a
// call, and a line of its standard output the answer. `make clients` builds the clients and runs the tests.
package clients
