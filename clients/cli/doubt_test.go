package cli_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/stowage-scheduler/stowage/clients/cli"
	"github.com/stowage-scheduler/stowage/clients/servertest"
	"github.com/stowage-scheduler/stowage/clients/stowage/loopback"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// A kind of doubt that no release has, and its text.
const (
	madeUpKind = stowagev1.DoubtKind(99)
	madeUpText = "a doubt of this test"
)

// doubting is a proxy that adds a doubt of its own to all responses of a server.
type doubting struct{ to *grpc.ClientConn }

// startDoubting starts a proxy for a server and returns its address.
func startDoubting(t *testing.T, server string) string {
	t.Helper()
	conn, err := grpc.NewClient(server, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	listener := loopback.Listen(t, "127.0.0.1:0")
	s := grpc.NewServer(grpc.UnknownServiceHandler((&doubting{conn}).handle))
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(listener) }()
	t.Cleanup(func() {
		s.Stop()
		<-done
		_ = conn.Close()
	})
	return listener.Addr().String()
}

// handle forwards a call of any method.
func (d *doubting) handle(_ any, from grpc.ServerStream) error {
	name, _ := grpc.MethodFromServerStream(from)
	full := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(name, "/"), "/", "."))
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(full)
	method, ok := found.(protoreflect.MethodDescriptor)
	if err != nil || !ok || !strings.HasPrefix(string(full), "stowage.") {
		return status.Error(codes.Unimplemented, name)
	}
	ctx, cancel := context.WithCancel(from.Context())
	defer cancel()
	to, err := d.to.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, name)
	if err != nil {
		return err
	}
	sent := make(chan error, 1)
	go func() { sent <- d.forward(from, to, method.Input()) }()
	for {
		response := messageOf(method.Output())
		err := to.RecvMsg(response)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		doubt(response.ProtoReflect())
		if err := from.SendMsg(response); err != nil {
			return err
		}
	}
}

func (*doubting) forward(from grpc.ServerStream, to grpc.ClientStream, of protoreflect.MessageDescriptor) error {
	for {
		request := messageOf(of)
		err := from.RecvMsg(request)
		if errors.Is(err, io.EOF) {
			return to.CloseSend()
		}
		if err == nil {
			err = to.SendMsg(request)
		}
		if err != nil {
			return err
		}
	}
}

func messageOf(d protoreflect.MessageDescriptor) proto.Message {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		panic(err)
	}
	return kind.New().Interface()
}

// doubt adds the doubt to a message and to those in it, where they have doubts.
func doubt(m protoreflect.Message) {
	if f := m.Descriptor().Fields().ByName("doubts"); f != nil {
		m.Mutable(f).List().Append(protoreflect.ValueOfMessage((&stowagev1.Doubt{
			Kind: madeUpKind, Name: madeUpText, Pod: &stowagev1.PodReference{Namespace: "default", Name: "pending", Count: 1},
		}).ProtoReflect()))
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil || f.IsMap() || f.Name() == "doubts":
		case f.IsList():
			for i := range v.List().Len() {
				doubt(v.List().Get(i).Message())
			}
		default:
			doubt(v.Message())
		}
		return true
	})
}

const doubtedCluster = `
{apiVersion: v1, kind: Node, metadata: {name: a, uid: a, labels: {kubernetes.io/hostname: a}, annotations: {stowage.scheduling/price: "1"}}, status: {allocatable: {cpu: "4", pods: "9"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: b, uid: b, labels: {kubernetes.io/hostname: b}, annotations: {stowage.scheduling/price: "1"}}, status: {allocatable: {cpu: "4", pods: "9"}}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web, uid: w}, spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}, status: {replicas: 1}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-0, uid: p, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: w, controller: true}]}, spec: {nodeName: a, containers: [{name: c, image: i}]}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: pending, uid: q}, spec: {containers: [{name: c, image: i}]}}
`

const doubtedTemplate = `{apiVersion: v1, kind: Node, metadata: {name: new, annotations: {stowage.scheduling/price: "1"}}, status: {allocatable: {cpu: "4", pods: "9"}}}`

// unanswered are the verbs without a question of their own: serve and mcp answer questions of the others, see
// TestServedAnswersAreThoseOfTheCommand.
var unanswered = []string{"completion", "man", "help", "version", "serve", "mcp"}

// TestDoubtEverywhere adds a doubt of its own to every response, and finds it in the answer of every verb, in every format, and in the
// exit status, although all answers are yes without it.
func TestDoubtEverywhere(t *testing.T) {
	server := servertest.Start(t)
	proxy := startDoubting(t, server.Address)
	directory := t.TempDir()
	file, template := filepath.Join(directory, "cluster.yaml"), filepath.Join(directory, "template.yaml")
	for path, text := range map[string]string{file: doubtedCluster, template: doubtedTemplate} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) (code int, stdout, stderr string) {
		var out, errs bytes.Buffer
		code = cli.Run(t.Context(), args, strings.NewReader(""), &out, &errs)
		return code, out.String(), errs.String()
	}
	verbs := map[string][]string{
		"place": nil, "filter": nil, "score": nil, "explain": {"pod/pending"}, "preempt": nil, "scale-down": {"--replicas=0"},
		"fit": nil, "drain": {"a"}, "fail": {"--node=a"}, "what-if": {"--without-node=a"},
		"provision": {"--template=" + template}, "consolidate": {"a"}, "audit": nil,
	}
	_, help, _ := run("--help")
	_, help, _ = strings.Cut(help, "\nCommands:\n")
	for _, verb := range regexp.MustCompile(`(?m)^  ([a-z][a-z-]+) `).FindAllStringSubmatch(help, -1) {
		if _, known := verbs[verb[1]]; !known && !slices.Contains(unanswered, verb[1]) {
			t.Errorf("this test does not know the verb %s", verb[1])
		}
	}
	texts := []string{"table", "json", "yaml", "html", "jsonpath={.notes}"}
	for _, verb := range slices.Sorted(maps.Keys(verbs)) {
		about := append([]string{verb, "-f", file}, verbs[verb]...)
		if code, stdout, stderr := run(append(about, "--server", server.Address)...); code != 0 {
			t.Errorf("%s exits with %d without the doubt: %s%s", verb, code, stdout, stderr)
		}
		for _, format := range append([]string{"name", "svg"}, texts...) {
			code, stdout, stderr := run(append(about, "--server", proxy, "-o", format)...)
			if strings.Contains(stderr, "--output=") { // not a format of this verb
				if code != 2 || format != "html" && format != "svg" && format != "name" {
					t.Errorf("%s -o %s: %d %s", verb, format, code, stderr)
				}
				continue
			}
			if code != 3 || slices.Contains(texts, format) && !strings.Contains(stdout, madeUpText) {
				t.Errorf("%s -o %s exits with %d:\n%s%s", verb, format, code, stdout, stderr)
			}
		}
	}
}
