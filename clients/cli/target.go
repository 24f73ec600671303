package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/report"
)

// target is an object that an argument names.
type target struct {
	kube.Origin        // Namespace is empty if none is given
	text        string // the argument
}

// targetKinds are the kinds that arguments name, as kubectl does.
var targetKinds = map[string]string{
	"pod": "Pod", "pods": "Pod", "po": "Pod",
	"deployment": "Deployment", "deployments": "Deployment", "deploy": "Deployment",
	"statefulset": "StatefulSet", "statefulsets": "StatefulSet", "sts": "StatefulSet",
	"replicaset": "ReplicaSet", "replicasets": "ReplicaSet", "rs": "ReplicaSet",
	"replicationcontroller": "ReplicationController", "replicationcontrollers": "ReplicationController",
	"rc":        "ReplicationController",
	"daemonset": "DaemonSet", "daemonsets": "DaemonSet", "ds": "DaemonSet",
	"job": "Job", "jobs": "Job", "cronjob": "CronJob", "cronjobs": "CronJob", "cj": "CronJob",
}

// parseTarget reads "kind/name" or "namespace/kind/name". The kind may have its API group, as kubectl prints it:
// "deployment.apps/x".
func parseTarget(text, namespace string) (target, error) {
	out := target{text: text}
	out.Namespace = namespace
	parts := strings.Split(text, "/")
	if len(parts) == 3 {
		if namespace != "" && namespace != parts[0] {
			return out, fmt.Errorf("%q is not in the namespace of --namespace", text)
		}
		out.Namespace, parts = parts[0], parts[1:]
	}
	if len(parts) != 2 || slices.Contains(parts, "") {
		return out, fmt.Errorf("%q is not KIND/NAME or NAMESPACE/KIND/NAME, such as deploy/web or shop/pod/web-1", text)
	}
	kind, _, _ := strings.Cut(strings.ToLower(parts[0]), ".")
	known, ok := targetKinds[kind]
	if !ok {
		return out, fmt.Errorf("%q: there is no kind %q with pods, only pod, deploy, sts, rs, rc, ds, job and cronjob", text, parts[0])
	}
	out.Kind, out.Name = known, parts[1]
	return out, nil
}

// is reports whether a target is an object.
func (t *target) is(o kube.Origin) bool {
	return t.Kind == o.Kind && t.Name == o.Name && (t.Namespace == "" || t.Namespace == o.Namespace)
}

// running returns the pod on a node that a target names.
func (t *target) running(snapshot *kube.Snapshot) (kube.OnNode, error) {
	var found []kube.OnNode
	var where []string
	for p := range snapshot.OnNodes() {
		if t.is(p.Object) {
			found, where = append(found, p), append(where, p.Object.Namespace+"/pod/"+p.Object.Name)
		}
	}
	switch {
	case t.Kind != "Pod":
		return kube.OnNode{}, fmt.Errorf("%q is not a pod", t.text)
	case len(found) == 0:
		return kube.OnNode{}, fmt.Errorf("there is no pod %q on a node", t.text)
	case len(found) > 1:
		return kube.OnNode{}, fmt.Errorf("there are several pods %q on nodes, name one of %s", t.text, report.Names(where))
	}
	return found[0], nil
}
