// Package cel evaluates the CEL expressions of DeviceClasses and ResourceClaims as kube-scheduler does, by the same library.
//
// It is a module of its own, because that library requires k8s.io/apiserver and Kubernetes v0.37 (docs/0036-cel.md). clients/kube
// accepts a *Selectors.
package cel
