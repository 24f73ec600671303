package cli

import (
	"context"
	"errors"
	"io"

	"google.golang.org/protobuf/proto"

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

// scenarioFlag returns the flag that sets a field of a request about failures.
func scenarioFlag(request proto.Message, path string) (string, bool) {
	_, asks := request.(*stowagev1.WhatIfRequest)
	return "--each", asks && path == "scenarios"
}
