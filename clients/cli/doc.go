// Package cli is the stowage command: it reads a live cluster or manifests, sends a request to a server, and prints the response.
//
// Run is the whole command as a function of its arguments and streams; the program in cmd/stowage only calls it. Without
// --server, Run starts a server inside the process that listens on no port. Both ways go through gRPC, and the output is
// the same to the byte.
//
// Exit codes: 0, all pods were placed, or a node is feasible. 1, they were not. 2, the request was invalid or failed. 3 in
// place of 0, kube-scheduler might reject a pod because of fields that are not read or a change of a workload is not decided (0
// with --allow-unread), a workload or a quota is not read (0 with --ignore KIND), or there was nothing to place although the manifests have workloads.
package cli
