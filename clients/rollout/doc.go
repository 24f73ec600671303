// Package rollout predicts the rollout of a Deployment, StatefulSet or DaemonSet: it creates and deletes pods as their controllers
// would (pkg/controller/deployment/rolling.go and recreate.go, pkg/controller/statefulset/stateful_set_control.go and
// pkg/controller/daemon/update.go, v1.37), and places them in a simulated cluster.
//
// A placed pod is ready, and a deleted pod is gone, before the controller continues. minReadySeconds and progressDeadlineSeconds do not
// count. In a real cluster, timing decides whether a controller deletes old pods before or after kube-scheduler has placed the pods
// created at the same time; here they are placed first.
package rollout
