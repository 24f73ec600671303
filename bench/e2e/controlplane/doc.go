// Package controlplane runs a Kubernetes control plane on loopback: etcd, kube-apiserver and kube-controller-manager, and
// kube-schedulers as wanted, each a process of the real binary that tools/build.sh builds. There is no kubelet and no
// node: FakeNodes and RunKubelet stand in for them.
//
// All processes end with the one that started them, however that ends.
package controlplane
