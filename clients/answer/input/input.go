// Package input makes questions of manifests, dumps and live clusters that were read, and notes what these lack.
package input

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/manifest"
	"github.com/stowage-scheduler/stowage/clients/stowage"
)

// Input is how objects were read.
type Input struct {
	// Live says that the objects are of a live cluster: their pods are all there.
	Live bool
	// Rollouts says that the question decides rollouts, so that a changed template is no gap.
	Rollouts bool
	// Forbidden are kinds of objects of the cluster that may not be read.
	Forbidden []error
	// Note, unless nil, receives each note at once.
	Note func(note string)

	notes []string
}

// Question returns a question about the objects of a reader, with what they lack.
func (in *Input) Question(client *stowage.Client, r *manifest.Reader) (*answer.Question, error) {
	snapshot, gaps, err := in.Read(r)
	if err != nil {
		return nil, err
	}
	return &answer.Question{Client: client, Snapshot: snapshot, Gaps: gaps, InputNotes: in.notes, Note: in.Note}, nil
}

func (in *Input) notef(format string, args ...any) {
	note := fmt.Sprintf(format, args...)
	in.notes = append(in.notes, note)
	if in.Note != nil {
		in.Note(note)
	}
}

// Read returns the objects of a reader as a snapshot, and what it lacks.
func (in *Input) Read(r *manifest.Reader) (*kube.Snapshot, answer.Gaps, error) {
	gaps := answer.Gaps{
		Forbidden: len(in.Forbidden), Workloads: r.SkippedWorkloads(), Deciding: r.SkippedDeciding(), Incomplete: !in.Live,
	}
	out, err := r.Snapshot()
	if err != nil {
		return nil, gaps, err
	}
	if len(out.Cluster.Nodes)+len(out.Queue)+len(out.Waiting)+len(out.Others)+len(out.HomelessPods) == 0 {
		if in.Live {
			return nil, gaps, errors.New("the cluster has no nodes and no pods")
		}
		return nil, gaps, errors.New("the manifests have no nodes and no pods")
	}
	for _, line := range r.Notices() {
		in.notef("%s", line)
	}
	for _, u := range out.Undecided {
		if in.Rollouts && out.Rollout(u.Origin) != nil {
			continue
		}
		in.notef("not decided: %v", &u)
	}
	if skipped := r.Skipped(); len(skipped) > 0 {
		in.notef("not read: %s", strings.Join(skipped, ", "))
	}
	if len(gaps.Workloads) > 0 {
		in.notef("the pods of these count only if the manifests contain them: %s", strings.Join(gaps.Workloads, ", "))
	}
	in.noteWorkloads(out)
	for _, m := range out.Misreads {
		in.notef("not understood: %v", m)
	}
	return out, gaps, nil
}

// noteWorkloads notes workloads and pods that do not count as their objects say.
func (in *Input) noteWorkloads(out *kube.Snapshot) {
	if len(out.Suspended) > 0 {
		in.notef("suspended, so without pods: %s", words.Names(kinds(out.Suspended)))
	}
	if len(out.OnDelete) > 0 {
		in.notef("updated when their pods are deleted (OnDelete): %s", words.Names(kinds(out.OnDelete)))
	}
	if n := out.LeftOut; n > 0 {
		in.notef("left out by --namespace and --selector, though kube-scheduler places them too: %s", words.Plural(n, "pending pod"))
	}
	switch e := out.Existing; {
	case in.Live: // their pods are there
	case len(e) == 1:
		in.notef("%s %s/%s exists already: its pods are taken from the manifests", e[0].Kind, e[0].Namespace, e[0].Name)
	case len(e) > 1:
		in.notef("%s %s/%s and %d more exist already: their pods are taken from the manifests",
			e[0].Kind, e[0].Namespace, e[0].Name, len(e)-1)
	}
	in.noteAssumed(&out.Assumptions)
	in.noteOthers(out.Others)
	in.noteHomeless(out.HomelessPods)
}

// noteAssumed notes storage objects that pods need and the input lacks, and when volumes are detached if a flag says so.
func (in *Input) noteAssumed(a *kube.Assumptions) {
	var of []string
	for _, name := range a.AssumedClasses {
		if name == convert.AssumedDefault {
			of = append(of, "the default StorageClass")
		} else {
			of = append(of, "StorageClass "+name)
		}
	}
	for _, name := range a.AssumedClaims {
		of = append(of, "PersistentVolumeClaim "+name)
	}
	if a.Detaching > 0 {
		in.notef("%s assumed to be detached with the last pods of their nodes that use them", words.Counted(a.Detaching, "attached volume is", "attached volumes are"))
	}
	if len(a.UnlimitedTemplates) > 0 {
		in.notef("no node with a CSINode is like these templates, so that no limit of attached volumes counts there: %s",
			words.Names(a.UnlimitedTemplates))
	}
	if len(a.BareTemplates) > 0 {
		in.notef("no node with devices is like these templates, so that their nodes have none: %s", words.Names(a.BareTemplates))
	}
	if len(of) > 0 {
		in.notef("not in the input, so that volumes are assumed to be provisioned for any node: %s", words.Names(of))
	}
}

// maximumHomes bounds the lines about missing nodes.
const maximumHomes = 10

// noteHomeless notes the pods on nodes that are not in the manifests, a line for each node and consequence.
func (in *Input) noteHomeless(pods []kube.HomelessPod) {
	type fate struct{ node, stays string }
	var order []fate
	names := map[fate][]string{}
	for _, p := range pods {
		f := fate{p.Node, p.Stays}
		if names[f] == nil {
			order = append(order, f)
		}
		names[f] = append(names[f], p.Namespace+"/"+p.Name)
	}
	for i, f := range order {
		if i == maximumHomes {
			in.notef("and so with the pods of %d more nodes", len(order)-i)
			break
		}
		which := words.Names(names[f])
		if f.stays == "" {
			in.notef("node %s is not in the manifests, so its pods are pending: %s", f.node, which)
		} else {
			in.notef("node %s is not in the manifests; not placed again (%s): %s", f.node, f.stays, which)
		}
	}
}

// kinds names objects with their kinds.
func kinds(of []kube.Origin) []string {
	var out []string
	for _, o := range of {
		out = append(out, o.String())
	}
	return out
}

// noteOthers notes the pods of other schedulers, a line for each scheduler.
func (in *Input) noteOthers(pods []kube.Entry) {
	names := map[string][]string{}
	for _, e := range pods {
		names[e.SchedulerName] = append(names[e.SchedulerName], e.Origin.String())
	}
	for _, scheduler := range slices.Sorted(maps.Keys(names)) {
		in.notef("left to the scheduler %q, see --scheduler-name: %s", scheduler, words.Names(slices.Compact(names[scheduler])))
	}
}
