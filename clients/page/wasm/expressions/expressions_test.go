package expressions_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/stowage-scheduler/stowage/clients/cel"
	"github.com/stowage-scheduler/stowage/clients/page/wasm/expressions"
)

// TestAnswersOfAnotherProgram compares the answers through texts with the evaluator's own.
func TestAnswersOfAnotherProgram(t *testing.T) {
	text, number, version, yes := "a100 \"<\u2028", int64(8), "1.2.3", true
	device := &resourcev1.Device{
		Name: "gpu-0", AllowMultipleAllocations: &yes,
		Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
			"model": {StringValue: &text}, "index": {IntValue: &number}, "dra.example.com/version": {VersionValue: &version}, "healthy": {BoolValue: &yes},
		},
		Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("1500m")}},
	}
	started := 0
	apart := &expressions.Selectors{Start: func() (func(string) string, error) {
		started++
		s := cel.New()
		return func(question string) string { return expressions.Answer(s, question) }, nil
	}}
	outcomes := func(s expressions.Evaluator, expression string) string {
		if err := s.Compile(expression); err != nil {
			return err.Error()
		}
		matches, err := s.Match(expression, "gpu.example.com", device)
		return fmt.Sprint(matches, err, s.Reads(expression, "gpu.example.com", "model"), s.Reads(expression, "dra.example.com", "version"))
	}
	if started != 0 {
		t.Error("started without an expression")
	}
	seen := map[string]bool{}
	for _, expression := range []string{
		`device.attributes["gpu.example.com"].model == "a100 \"<\u2028"`,
		`device.attributes["gpu.example.com"].index > 8`,
		`device.attributes["dra.example.com"].version.isGreaterThan(semver("1.2.2"))`,
		`device.capacity["gpu.example.com"].memory.compareTo(quantity("1500m")) == 0`,
		`device.attributes["gpu.example.com"].healthy && device.allowMultipleAllocations`,
		`device.attributes["gpu.example.com"].absent == 1`,
		`device.attributes["gpu.example.com"].model > 1`,
		`device.nothing`,
	} {
		want := outcomes(cel.New(), expression)
		if got := outcomes(apart, expression); got != want {
			t.Errorf("%s: %s, want %s", expression, got, want)
		}
		seen[want] = true
	}
	if started != 1 || len(seen) < 6 {
		t.Errorf("started %d times, %d outcomes", started, len(seen))
	}
}

// TestErrors has a program that does not start, and one that answers nothing.
func TestErrors(t *testing.T) {
	broken := errors.New("not found")
	s := &expressions.Selectors{Start: func() (func(string) string, error) {
		return func(string) string { return "<undefined>" }, broken
	}}
	if err := s.Compile("true"); !errors.Is(err, broken) || !errors.Is(s.Err, broken) {
		t.Errorf("%v, %v", err, s.Err)
	}
	broken = nil
	if err := s.Compile("true"); err == nil || s.Err == nil || !strings.Contains(err.Error(), "evaluates expressions") {
		t.Errorf("%v, %v", err, s.Err)
	}
	if got := expressions.Answer(cel.New(), "{"); !strings.Contains(got, "error") {
		t.Error(got)
	}
}
