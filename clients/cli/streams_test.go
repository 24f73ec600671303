package cli_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/clients/cli"
)

const manifests = `{apiVersion: v1, kind: Node, metadata: {name: a}}`

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestOutputThatCannotBeWritten(t *testing.T) {
	for _, args := range []string{"place -f -", "place -f - -o json", "completion bash", "completion fish"} {
		var stderr bytes.Buffer
		code := cli.Run(t.Context(), strings.Fields(args), strings.NewReader(manifests), full{}, &stderr)
		if code != 2 || stderr.String() != "stowage: error: no space left\n" {
			t.Errorf("%s: exit code %d, %q", args, code, stderr.String())
		}
	}
}

func TestInterruptedWhileReading(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, w := io.Pipe()
	defer func() { _ = w.Close() }()
	go func() {
		_, _ = w.Write([]byte("#")) // returns when the command reads
		cancel()
	}()
	var stderr bytes.Buffer
	code := cli.Run(ctx, []string{"place", "-f", "-"}, in, io.Discard, &stderr)
	if code != 2 || !strings.Contains(stderr.String(), "context canceled") {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
}
