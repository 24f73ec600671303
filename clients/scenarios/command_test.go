package scenarios_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/cli"
	"github.com/stowage-scheduler/stowage/clients/scenarios"
	"github.com/stowage-scheduler/stowage/clients/servertest"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// command is the arguments that ask a question, and the message that the answer is.
func command(q *scenarios.Question, a *scenarios.Answer) ([]string, proto.Message) {
	args := []string{"place"}
	var m proto.Message
	switch {
	case q.Filter != nil:
		a.Filter = &stowagev1.FilterResponse{}
		args, m = []string{"explain", "--pod", q.Step.Filter.Pod}, a.Filter
	case q.Score != nil:
		a.Score = &stowagev1.ScoreResponse{}
		args, m = []string{"score", "--pod", q.Step.Score.Pod}, a.Score
	case q.Preempt != nil:
		a.Preempt = &stowagev1.PreemptResponse{}
		args, m = []string{"preempt", "--safe", "--across-nodes", "--pod", q.Step.Preempt.Pod}, a.Preempt
	case q.ScaleDown != nil:
		a.ScaleDown = &stowagev1.ScaleDownResponse{}
		args = []string{"scale-down", "--workload", q.Step.ScaleDown.Workload, "--replicas", fmt.Sprint(q.Step.ScaleDown.Replicas)}
		m = a.ScaleDown
	default:
		a.Place = &stowagev1.PlaceResponse{}
		m = a.Place
		// The command asks to explain placements for tables alone.
		for name, p := range q.Step.Place {
			p.Explanation = nil
			q.Step.Place[name] = p
		}
	}
	if q.Place.GetIncludeChanges() {
		args = append(args, "--changes")
	}
	if q.Step.Joint {
		args = append(args, "--joint")
	}
	if q.Step.Queue {
		args = append(args, "--queue", "kube-scheduler")
	}
	for _, path := range q.Paths() {
		args = append(args, "-f", path)
	}
	return append(args, "-o", "json"), m
}

// runs executes the command and returns what it prints. Its exit code must agree with the request.
func runs(ctx context.Context, args []string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	if code := cli.Run(ctx, args, nil, &stdout, &stderr); code > 1 {
		return nil, fmt.Errorf("exit code %d: %s", code, stderr.String())
	}
	return stdout.Bytes(), nil
}

// inCommand asks the command line. Profiles go through a file.
func inCommand(t *testing.T) scenarios.Decider {
	return func(ctx context.Context, q *scenarios.Question) (*scenarios.Answer, error) {
		a := &scenarios.Answer{}
		args, m := command(q, a)
		if q.Step.Profile != nil {
			profile := filepath.Join(t.TempDir(), "profile.json")
			if err := os.WriteFile(profile, q.Step.Profile, 0o600); err != nil {
				return nil, err
			}
			args = append(args, "--profile", profile)
		}
		text, err := runs(ctx, args)
		if err != nil {
			return nil, err
		}
		withoutPods := protojson.UnmarshalOptions{DiscardUnknown: true} // place lists pods beside the fields of the contract
		return a, withoutPods.Unmarshal(text, m)
	}
}

func TestThroughTheCommand(t *testing.T) { hold(t, inCommand(t)) }

func TestTheCommandPrintsTheSameForAnyServer(t *testing.T) {
	address := servertest.Start(t).Address
	cases, err := scenarios.Load(examples)
	if err != nil {
		t.Fatal(err)
	}
	for i := range cases {
		for j := range cases[i].Steps {
			if testing.Short() && (i+j)%3 != 0 {
				continue
			}
			q, err := scenarios.Ask(&cases[i], &cases[i].Steps[j])
			if err != nil {
				t.Fatal(err)
			}
			args, _ := command(q, &scenarios.Answer{})
			embedded, err := runs(t.Context(), args)
			if err != nil {
				t.Fatal(err)
			}
			remote, err := runs(t.Context(), append(args, "--server", address))
			if err != nil {
				t.Fatal(err)
			}
			if len(embedded) == 0 || !bytes.Equal(embedded, remote) {
				t.Errorf("%s/%s: printed differently\n%s\n%s", cases[i].Name(), cases[i].Steps[j].Name, embedded, remote)
			}
		}
	}
}
