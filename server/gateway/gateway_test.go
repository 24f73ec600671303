package gateway

import (
	"bytes"
	"errors"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// heap returns the bytes that are live.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func names(prefix string, n int, value string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + prefix + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676%26)) + string(rune('a'+i/17576)) + `":` + value)
	}
	return b.String()
}

// TestBodiesTakeWhatTheyCount decodes bodies that are small for what they contain.
func TestBodiesTakeWhatTheyCount(t *testing.T) {
	const n, noise = 100000, 64 << 10
	list := func(of string) string { return strings.TrimSuffix(strings.Repeat(of+",", n), ",") }
	for name, text := range map[string]string{
		"nodes":     `{"context":{"cluster":{"nodes":[` + list("{}") + `]}}}`,
		"templates": `{"context":{"cluster":{"podTemplates":[` + list(`{"spec":{}}`) + `]}}}`,
		"claims":    `{"context":{"cluster":{"persistentVolumes":[` + list("{}") + `]}}}`,
		"labels":    `{"context":{"cluster":{"nodes":[{"labels":{` + names("", n, `""`) + `}}]}}}`,
		"extended":  `{"context":{"cluster":{"nodes":[{"allocatable":{"scalars":{` + names("x", n, `1`) + `}}}]}}}`,
		"numbers":   `{"candidateNodes":{"indexes":[` + list("1") + `]}}`,
		"texts":     `{"context":{"cluster":{"nodes":[{"name":"` + strings.Repeat("x", n) + `"}]}}}`,
	} {
		before := heap()
		m := &stowagev1.FilterRequest{}
		err := protojson.Unmarshal([]byte(text), m)
		if took, counted := heap()-before, decoded([]byte(text)); err != nil || took > counted+noise {
			t.Errorf("%s: %v: %d bytes of JSON take %d, and count as %d", name, err, len(text), took, counted)
		} else {
			t.Logf("%s: %d bytes of JSON take %d, and count as %d", name, len(text), took, counted)
		}
		runtime.KeepAlive(m)
	}
}

// TestAnswersTakeWhatTheyCount decodes answers and encodes them as JSON.
func TestAnswersTakeWhatTheyCount(t *testing.T) {
	const n, noise = 100000, 64 << 10
	indexes := make([]uint32, n)
	texts := make([]string, n)
	rejections := make([]*stowagev1.Rejection, n)
	for i := range n {
		indexes[i], texts[i] = uint32(i), "node-"+strings.Repeat("x", i%10)
		rejections[i] = &stowagev1.Rejection{Plugin: stowagev1.Plugin_PLUGIN_NODE_AFFINITY, Nodes: &stowagev1.NodeList{Indexes: []uint32{uint32(i)}}}
	}
	for name, answer := range map[string]proto.Message{
		"indexes":    &stowagev1.FilterResponse{FeasibleNodes: &stowagev1.NodeList{Indexes: indexes}},
		"names":      &stowagev1.FilterResponse{FeasibleNodes: &stowagev1.NodeList{Names: texts}},
		"rejections": &stowagev1.FilterResponse{Rejections: rejections},
	} {
		encoded, err := proto.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		before := heap()
		got := &stowagev1.FilterResponse{}
		if err := proto.Unmarshal(encoded, got); err != nil {
			t.Fatal(err)
		}
		text, err := (&marshaler{}).Marshal(got)
		if took, counted := heap()-before, answerBytes(got); err != nil || took > counted+noise {
			t.Errorf("%s: %v: %d bytes take %d, and count as %d", name, err, len(encoded), took, counted)
		} else {
			t.Logf("%s: %d bytes take %d, and count as %d", name, len(encoded), took, counted)
		}
		runtime.KeepAlive(got)
		runtime.KeepAlive(text)
	}
}

// requests are the messages that bodies are decoded to.
func requests(t testing.TB) (out []proto.Message) {
	t.Helper()
	for path := range methods() {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(strings.ReplaceAll(path[1:], "/", ".")))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, dynamicpb.NewMessage(d.(protoreflect.MethodDescriptor).Input()))
	}
	return out
}

// FuzzBody decodes any text as any request. What is none is an invalid request with a field, and what is one has the same JSON again.
func FuzzBody(f *testing.F) {
	for _, text := range []string{
		`{"context":{"cluster":{"nodes":[{"name":"a","labels":{"zone":"a"},"taints":[{"key":"x","effect":"TAINT_EFFECT_NO_SCHEDULE"}]}]}},"pod":{}}`,
		`{"part":{"nodes":[{"name":"a"}]}}` + "\n" + `{"end":{}}`, `{"queue":[{"count":1e9}]}`, `{"tieBreakSeed":"18446744073709551615"}`,
		`{"context":{"cluster":{"nodes":[{"labels":{"a":1}}]}}}`, `{"queueMode":"X"}`, `[[[[`, "{\n\"context\":\n{\"x\":1}}", "\u00e4\xff", `{"queue":[{},{"x":{}}]}`,
	} {
		f.Add(text)
	}
	all := requests(f)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<16 {
			return
		}
		for _, of := range all {
			c := &call{}
			d := (&marshaler{}).NewDecoder(&body{bytes.NewReader([]byte(text)), []byte(text), c})
			for {
				m := of.ProtoReflect().New().Interface()
				err := d.Decode(m)
				if errors.Is(err, io.EOF) {
					break
				}
				if err == nil {
					sameAgain(t, m)
					if m.ProtoReflect().Descriptor().Name() == "PutSnapshotRequest" {
						continue
					}
					break
				}
				expectField(t, text, c.invalid)
				break
			}
		}
	})
}

func sameAgain(t *testing.T, m proto.Message) {
	t.Helper()
	encoded, err := (&marshaler{}).Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	again := m.ProtoReflect().New().Interface()
	if err := protojson.Unmarshal(encoded, again); err != nil || !proto.Equal(m, again) {
		t.Fatalf("%v: %v becomes %v", err, m, again)
	}
}

func expectField(t *testing.T, text string, err error) {
	t.Helper()
	s := status.Convert(err)
	if s.Code() != codes.InvalidArgument {
		t.Fatalf("%q: %v", text, err)
	}
	for _, d := range s.Details() {
		if bad, ok := d.(*errdetails.BadRequest); ok && len(bad.GetFieldViolations()) == 1 && bad.GetFieldViolations()[0].GetDescription() != "" {
			return
		}
	}
	t.Fatalf("%q: no field: %v", text, s.Details())
}

// TestOffset finds lines and columns, which count characters.
func TestOffset(t *testing.T) {
	for _, x := range []struct{ text, at string }{{"abc", "c"}, {"a\nbc", "c"}, {"ä\näöc", "c"}, {"\n\n\nc", "c"}} {
		before, _, _ := strings.Cut(x.text, x.at)
		line := strings.Count(before, "\n") + 1
		column := len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1
		if got := offset([]byte(x.text), line, column); got != len(before) {
			t.Errorf("%q: line %d, column %d is at %d, want %d", x.text, line, column, got, len(before))
		}
	}
	if offset([]byte("a"), 1, math.MaxInt32) != 1 {
		t.Error("a column beyond the end is not the end")
	}
}
