// Package speed measures Stowage against floors and against kube-scheduler, in one process and one run.
//
// Everything is a ratio to something that was measured in the same minute, in turns with it: to an empty call, to an echo
// of the same bytes, to kube-scheduler's own plugins on the same cluster and pod. Calls go over loopback to the real
// server, from a client that neither encodes nor decodes (bench/loopback). Times are medians; of what, the table says.
//
// Every answer is checked. The first is compared with kube-scheduler's decision, and where the cluster is too large for
// that, with what must be true of it; the others must be the same bytes, or be the same but for what was changed. A wrong
// answer ends the run.
//
// cases.yaml has the pods, thresholds.yaml the rows of the table with what is promised.
package speed
