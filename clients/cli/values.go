//go:build !js

package cli

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/stowage-scheduler/stowage/clients/answer/target"
	"github.com/stowage-scheduler/stowage/clients/kube"
)

// questionOf has the flags of a command line that say what is read. Standard input and URLs are left out: a TAB must not wait for either.
func questionOf(typed *pflag.FlagSet) *question {
	all := func(flag string) []string {
		out, _ := typed.GetStringArray(flag) // none if the command has no such flag
		return out
	}
	q := &question{inputs: inputs{Kustomize: all("kustomize")}}
	q.Recursive, _ = typed.GetBool("recursive")
	q.Kubeconfig = cmp.Or(all("kubeconfig")...)
	q.File = slices.DeleteFunc(all("file"), func(path string) bool { return path == "-" || isURL(path) })
	return q
}

// valuesOf are the values of a kind that a question reads. What cannot be read has no values. A live cluster is not read: that takes too
// long.
func valuesOf(q *question, kind string) []string {
	if kind == "context" {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = q.Kubeconfig
		config, err := rules.Load()
		if err != nil {
			return nil
		}
		return slices.Sorted(maps.Keys(config.Contexts))
	}
	if q.live() {
		return nil
	}
	r, err := q.reader(&session{ctx: context.Background(), stderr: io.Discard}, kube.AnyScheduler)
	if err != nil {
		return nil
	}
	snapshot, err := r.Snapshot()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(values(snapshot, kind)))
}

// values are the values of a snapshot.
func values(s *kube.Snapshot, of string) map[string]bool {
	out := map[string]bool{}
	switch of {
	case "namespace":
		for o := range target.Objects(s) {
			out[o.Namespace] = true
		}
	case "target":
		for o := range target.Objects(s) {
			out[o.Argument()] = true
		}
	default:
		for _, n := range s.NodeObjects() {
			switch of {
			case "node":
				out[n.Name] = true
			case "zone":
				out[n.Labels[corev1.LabelTopologyZone]] = true
			case "topology-key":
				for key := range n.Labels {
					out[key] = true
				}
			}
		}
	}
	delete(out, "")
	return out
}
