package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/report"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// whatIf puts a question about scenarios, and hands over each answer, in order, as it comes.
func whatIf(
	ctx context.Context, client stowagev1.SimulationServiceClient, request *stowagev1.WhatIfRequest,
	take func(*stowagev1.WhatIfResponse),
) error {
	stream, err := client.WhatIf(ctx, request)
	if err != nil {
		return err
	}
	for taken := 0; ; taken++ {
		answer, err := stream.Recv()
		switch {
		case err == nil:
			take(answer)
			continue
		case !errors.Is(err, io.EOF):
			return err
		case taken < len(request.Scenarios):
			return errors.New("the answer has no end")
		}
		return nil
	}
}

// tellGroups says of pod groups whose pods come back that their pods are placed one by one, which is not decided as
// kube-scheduler does.
func (a *asked) tellGroups(displaced []kube.Displaced) {
	var groups []string
	for _, p := range displaced {
		if p.Fate == kube.Returns && p.PodGroup != "" && !slices.Contains(groups, p.PodGroup) {
			groups = append(groups, p.PodGroup)
		}
	}
	if len(groups) == 0 {
		return
	}
	u := kube.Undecided{
		At: "pod groups " + report.Names(groups), Message: "their pods that come back are placed one by one, and not as groups",
	}
	a.snapshot.Undecided = append(a.snapshot.Undecided, u)
	fmt.Fprintf(a.stderr, "stowage: not decided: %v\n", &u)
}

// scenarioFlag returns the flag that sets a field of a request about failures.
func scenarioFlag(request proto.Message, path string) (string, bool) {
	_, asks := request.(*stowagev1.WhatIfRequest)
	return "--each", asks && path == "scenarios"
}
