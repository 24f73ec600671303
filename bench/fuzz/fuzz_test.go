package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestAnswersAreEqual is a small run of the command.
func TestAnswersAreEqual(t *testing.T) {
	inputs := uint64(3000)
	if testing.Short() {
		inputs = 300
	}
	s := newService()
	totals := newTotals()
	for i := range inputs {
		in := drawn(1, i)
		o, err := in.compare(s)
		if err != nil {
			t.Fatalf("input %d, a %s: %v", i, in.method.name, err)
		}
		totals.add(in.method, o)
	}
	if err := report(totals); err != nil {
		t.Error(err)
	}
}

// TestKeptInputs asks again what once was answered in different ways.
func TestKeptInputs(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		in, err := readInput(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.compare(newService()); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestUnusualEncodings checks that what is compared differs in its bytes, and decodes to the same.
func TestUnusualEncodings(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	different := 0
	for i := range uint64(1000) {
		in := drawn(7, i)
		m := in.method.request.ProtoReflect().New().Interface()
		if proto.Unmarshal(in.raw, m) != nil {
			continue
		}
		usual, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		raw := unusual(usual, m.ProtoReflect().Descriptor(), rng)
		if string(raw) != string(usual) {
			different++
		}
		again := in.method.request.ProtoReflect().New().Interface()
		if err := proto.Unmarshal(raw, again); err != nil || !proto.Equal(m, again) {
			t.Errorf("input %d: %v, or another message", i, err)
		}
	}
	if different < 750 {
		t.Errorf("only %d of 1000 are encoded in another way", different)
	}
}

// TestDifferencesAreFound has services that answer wrongly in one way.
func TestDifferencesAreFound(t *testing.T) {
	wrong := func(change func(*service)) (found string) {
		s := newService()
		change(s)
		for i := range uint64(500) {
			if _, err := drawn(3, i).compare(s); err != nil {
				return err.Error()
			}
		}
		return ""
	}
	for want, change := range map[string]func(*service){
		"in frames": func(s *service) {
			s.frames.change = func(_ string, a *answer) {
				if len(a.parts) > 0 && len(a.parts[0]) > 100 {
					a.parts = a.parts[1:]
				}
			}
		},
		"by address": func(s *service) {
			asked := make(map[string]int)
			s.frames.change = func(name string, a *answer) {
				if len(a.parts) == 0 || name != "Filter" {
					return
				}
				if asked[string(a.parts[0])]++; asked[string(a.parts[0])] == 5 {
					a.parts[0] = append([]byte{0x1a, 1, 'x'}, a.parts[0]...)
				}
			}
		},
		"the content's": func(s *service) {
			s.frames.change = func(name string, a *answer) {
				if len(a.parts) > 0 && name == "PutSnapshot" {
					a.parts[0], _ = proto.Marshal(&stowagev1.PutSnapshotResponse{Address: strings.Repeat("0", 64)})
				}
			}
		},
	} {
		if found := wrong(change); !strings.Contains(found, want) {
			t.Errorf("found %q, want one with %q", found, want)
		}
	}
}

// TestFramesAreOverwritten has a handler that keeps a frame.
func TestFramesAreOverwritten(t *testing.T) {
	frame := []byte("abc")
	s := newService()
	s.frames.call(t.Context(), s, "Filter", mem.BufferSlice{mem.SliceBuffer(frame)})
	if string(frame) == "abc" {
		t.Error("the frame is as it was")
	}
}

func TestFailuresAreWritten(t *testing.T) {
	in := drawn(3, 1)
	in.delta = &stowagev1.ClusterDelta{RemovedNodes: []string{"a"}}
	t.Setenv("TMPDIR", t.TempDir())
	name, err := (&failure{number: 1, input: in}).write()
	if err != nil {
		t.Fatal(err)
	}
	got, err := readInput(name)
	if err != nil || got.method != in.method || string(got.raw) != string(in.raw) || got.seed != in.seed || !proto.Equal(got.delta, in.delta) {
		t.Errorf("read %v, %v", got, err)
	}
	if err := os.WriteFile(name, []byte(`{"method":"None"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readInput(name); err == nil {
		t.Error("an unknown method is read")
	}
}
