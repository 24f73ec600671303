// Package generate draws parity cases: clusters and pods that together reach every branch of kube-scheduler's plugins
// that an object can reach which the API server would store.
//
// A case is a function of its profile and its seed alone. The vocabulary is small on purpose (three values of a label,
// four zones), so that selectors match, domains are shared and counts collide; what clusters rarely have, and what
// implementations therefore get wrong, is drawn far more often than clusters have it: labels that are missing, empty or
// duplicate, selectors that are nil or empty, namespaces that are not listed, pods that are terminating.
package generate
