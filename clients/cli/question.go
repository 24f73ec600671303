package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/manifest"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// question is what all questions have in common.
type question struct {
	File    []string `short:"f" required:"" sep:"none" placeholder:"PATH" help:"Manifests: a file, a directory, or - for standard input. May be repeated."`
	Server  []string `placeholder:"ADDRESS" help:"Server to ask, host:port; several are replicas. Without one, this process answers."`
	Profile string   `placeholder:"FILE" help:"Profile to decide by, in JSON or YAML. Default: kube-scheduler's."`
	Output  string   `short:"o" enum:"table,json,yaml" default:"table" help:"How to print the answer: ${enum}."`
}

// snapshot reads the manifests, and tells what of them does not count.
func (q *question) snapshot(s *session) (*kube.Snapshot, error) {
	r := manifest.NewReader(kube.Options{})
	for _, path := range q.File {
		if err := r.ReadPath(path, s.stdin); err != nil {
			return nil, err
		}
	}
	out, err := r.Snapshot()
	if err != nil {
		return nil, err
	}
	if len(out.Cluster.Nodes)+len(out.Queue)+len(out.HomelessPods) == 0 {
		return nil, errors.New("the manifests have no nodes and no pods")
	}
	if skipped := r.Skipped(); len(skipped) > 0 {
		fmt.Fprintf(s.stderr, "stowage: not read: %s\n", strings.Join(skipped, ", "))
	}
	if e := out.Existing; len(e) == 1 {
		fmt.Fprintf(s.stderr, "stowage: %s %s/%s exists already: its pods are taken from the manifests\n", e[0].Kind, e[0].Namespace, e[0].Name)
	} else if len(e) > 1 {
		fmt.Fprintf(s.stderr, "stowage: %s %s/%s and %d more exist already: their pods are taken from the manifests\n",
			e[0].Kind, e[0].Namespace, e[0].Name, len(e)-1)
	}
	for _, pod := range out.HomelessPods {
		fmt.Fprintf(s.stderr, "stowage: pod %s does not count: its node is not in the manifests\n", pod)
	}
	for _, text := range out.Unread {
		fmt.Fprintf(s.stderr, "stowage: %s\n", text)
	}
	return out, nil
}

// profile reads the profile; nil if none is given.
func (q *question) profile() (*stowagev1.Profile, error) {
	if q.Profile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(q.Profile)
	if err != nil {
		return nil, err
	}
	text, err = yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", q.Profile, err)
	}
	out := &stowagev1.Profile{}
	if err := protojson.Unmarshal(text, out); err != nil {
		return nil, fmt.Errorf("%s: %w", q.Profile, err)
	}
	return out, nil
}

// located tells what of a request was refused in the words of the files that it was made of.
func (q *question) located(err error, snapshot *kube.Snapshot, request proto.Message) error {
	var out []error
	for _, v := range stowage.Details(err).Violations {
		parts := []string{v.Field}
		if at, field, ok := snapshot.Locate(request, v.Field); ok {
			parts = []string{at, field}
		} else if flag, ok := jointFlag(request, v.Field); ok {
			parts = []string{flag}
		} else if field, ok := strings.CutPrefix(v.Field, "profile."); ok && q.Profile != "" {
			parts = []string{q.Profile, field}
		}
		parts = slices.DeleteFunc(append(parts, v.Description), func(s string) bool { return s == "" })
		out = append(out, errors.New(strings.Join(parts, ": ")))
	}
	if len(out) == 0 {
		return err
	}
	return errors.Join(out...)
}

// onePod is a question about one pod.
type onePod struct {
	question
	Pod string `placeholder:"NAME" help:"The pending pod, by its name or its workload's. Needed if there are several."`
}

func (q *onePod) read(s *session) (*kube.Snapshot, *stowagev1.Pod, *stowagev1.Profile, error) {
	snapshot, err := q.snapshot(s)
	if err != nil {
		return nil, nil, nil, err
	}
	entry, alike, err := snapshot.Pending(q.Pod)
	if err != nil {
		return nil, nil, nil, err
	}
	if alike > 1 {
		fmt.Fprintf(s.stderr, "stowage: the first of %d pods of %s: %s\n", alike, q.Pod, entry.Pods.Pod.Name)
	}
	profile, err := q.profile()
	return snapshot, entry.Pods.Pod, profile, err
}
