// Package controlplane runs a Kubernetes control plane on loopback: etcd, kube-apiserver and kube-controller-manager, and
// kube-schedulers as wanted, each a process of the real binary that tools/build.sh builds. There is no kubelet and no
// node: FakeNodes and RunKubelet stand in for them.
//
// All processes end when the process that started them ends, also if that was killed.
package controlplane
