// Package cli is the stowage command: it reads manifests, asks a server, and shows the answer.
//
// Run is the whole command as a function of its arguments and streams; the program in cmd/stowage only calls it. Given
// no server, it starts one inside the process that listens nowhere, so the answer takes the same way either way and
// is the same to the byte.
//
// The exit code is 0 if all pods were placed, or a node can take the pod, 1 if not, and 2 if the question was wrong or
// got no answer. It is 3 in place of 0 if kube-scheduler might refuse because of what was not read, unless --allow-unread is
// given, and if there was nothing to place though the manifests have workloads.
package cli
