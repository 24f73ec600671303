package cli

import (
	"io"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/stowage-scheduler/stowage/clients/kube"
)

// valuesCommand prints the values that the words of a command line leave to complete. The scripts of completion call it.
type valuesCommand struct {
	Of    string   `arg:"" enum:"context,namespace,node,target,zone,topology-key"`
	Words []string `arg:"" optional:"" passthrough:""`
}

// Run is called by kong. What cannot be read has no values. A live cluster is not read: that takes too long.
func (c *valuesCommand) Run(s *session) error {
	q := typed(c.Words)
	if c.Of == "context" {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = q.Kubeconfig
		if config, err := rules.Load(); err == nil {
			return printNames(s.stdout, slices.Sorted(maps.Keys(config.Contexts)))
		}
		return nil
	}
	if q.live() {
		return nil
	}
	quiet := *s
	quiet.stderr = io.Discard
	if r, err := q.reader(&quiet, kube.AnyScheduler); err == nil {
		if snapshot, err := r.Snapshot(); err == nil {
			return printNames(s.stdout, slices.Sorted(maps.Keys(values(snapshot, c.Of))))
		}
	}
	return nil
}

// typed are the flags of a command line that say what is read.
func typed(words []string) *question {
	q := &question{}
	for i, word := range words {
		flag, value, joined := strings.Cut(word, "=")
		if !joined && i+1 < len(words) {
			value = words[i+1]
		}
		switch flag {
		case "-f", "--file":
			q.File = append(q.File, value)
		case "-k", "--kustomize":
			q.Kustomize = append(q.Kustomize, value)
		case "-R", "--recursive":
			q.Recursive = true
		case "--kubeconfig":
			q.Kubeconfig = value
		}
	}
	q.File = slices.DeleteFunc(q.File, func(path string) bool { return path == "-" || isURL(path) })
	return q
}

// values are those of a snapshot.
func values(s *kube.Snapshot, of string) map[string]bool {
	out := map[string]bool{}
	switch of {
	case "namespace":
		for o := range objectsOf(s) {
			out[o.Namespace] = true
		}
	case "target":
		for o := range objectsOf(s) {
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
