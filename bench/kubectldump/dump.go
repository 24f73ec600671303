// Package kubectldump writes clusters as `kubectl get nodes,pods,deployments,replicasets -A -o json` or -o yaml prints them, of
// any size and always the same for the same arguments. Pods have owners, environment, volumes, probes and conditions, and nodes
// have images, which are most of what real ones consist of.
package kubectldump

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Options are the size and the form of a dump.
type Options struct {
	Nodes int
	// PodsPerNode is the number of pods on each node, 30 if 0. Ten each belong to one Deployment.
	PodsPerNode int
	YAML        bool
	// ManagedFields adds managed fields, as kubectl's --show-managed-fields does: twice the text.
	ManagedFields bool
}

// Counts are the numbers of objects of a dump.
type Counts struct{ Nodes, Pods, Deployments int }

// Write writes a dump.
func Write(to io.Writer, o Options) (Counts, error) {
	if o.PodsPerNode == 0 {
		o.PodsPerNode = 30
	}
	c := Counts{Nodes: o.Nodes, Pods: o.Nodes * o.PodsPerNode}
	c.Deployments = (c.Pods + replicas - 1) / replicas
	buffered := bufio.NewWriterSize(to, 1<<20)
	out := &list{to: buffered, yaml: o.YAML, managed: o.ManagedFields}
	out.begin()
	for i := range c.Nodes {
		out.item(node(i))
	}
	for i := range c.Pods {
		out.item(pod(i, c.Nodes))
	}
	for i := range c.Deployments {
		out.item(deployment(i))
	}
	for i := range c.Deployments {
		out.item(replicaSet(i))
	}
	out.end()
	if out.err != nil {
		return c, out.err
	}
	return c, buffered.Flush()
}

// list writes a List item by item, with sorted keys and kubectl's indentation.
type list struct {
	to      *bufio.Writer
	yaml    bool
	managed bool // with managed fields
	after   bool // an item
	err     error
}

func (l *list) text(s string) {
	if l.err == nil {
		_, l.err = l.to.WriteString(s)
	}
}

func (l *list) begin() {
	if l.yaml {
		l.text("apiVersion: v1\nitems:\n")
		return
	}
	l.text("{\n    \"apiVersion\": \"v1\",\n    \"items\": [")
}

func (l *list) end() {
	if l.yaml {
		l.text("kind: List\nmetadata:\n  resourceVersion: \"\"\n")
		return
	}
	l.text("\n    ],\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    }\n}\n")
}

func (l *list) item(o metav1.Object) {
	if l.err != nil {
		return
	}
	// By way of a map, so that the keys are sorted.
	var tree map[string]any
	raw, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(raw, &tree)
	}
	if err != nil {
		l.err = err
		return
	}
	if l.managed {
		manage(tree, o.GetCreationTimestamp().UTC())
	}
	if l.yaml {
		l.yamlItem(tree)
		return
	}
	text, err := json.MarshalIndent(tree, "        ", "    ")
	if err != nil {
		l.err = err
		return
	}
	if l.after {
		l.text(",")
	}
	l.after = true
	l.text("\n        " + string(text))
}

func (l *list) yamlItem(tree map[string]any) {
	text, err := yaml.Marshal(tree)
	if err != nil {
		l.err = err
		return
	}
	before := "- "
	for line := range bytes.Lines(text) {
		l.text(before + string(line))
		before = "  "
	}
}
