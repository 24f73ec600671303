package cel

import (
	"context"
	"sync"

	resourcev1 "k8s.io/api/resource/v1"
	upstream "k8s.io/dynamic-resource-allocation/cel"
)

// Selectors evaluates expressions. Each one is compiled once. Its methods may be called from several goroutines.
type Selectors struct {
	compiled sync.Map // of *selector, by expression
}

// selector is a compiled expression.
type selector struct {
	program upstream.CompilationResult
	reads   reads
}

// New returns Selectors without a compiled expression.
func New() *Selectors { return &Selectors{} }

// features are the feature gates of kube-scheduler v1.37 that change expressions: DRAConsumableCapacity is on, and DRAListTypeAttributes is off.
var features = upstream.Features{EnableConsumableCapacity: true}

func (s *Selectors) selector(expression string) *selector {
	if found, ok := s.compiled.Load(expression); ok {
		return found.(*selector)
	}
	made := &selector{program: upstream.GetCompiler(features).CompileCELExpression(expression, upstream.Options{DisableCostEstimation: true})}
	if made.program.Error == nil {
		made.reads = readsOf(made.program.Environment, expression)
	}
	kept, _ := s.compiled.LoadOrStore(expression, made)
	return kept.(*selector)
}

// Compile returns the error of an expression that does not compile. kube-scheduler prints "CEL compile error: " before it.
func (s *Selectors) Compile(expression string) error {
	if err := s.selector(expression).program.Error; err != nil {
		return err
	}
	return nil
}

// Reads reports whether the outcome of an expression that compiles may depend on the attribute or the capacity with the name and the
// domain. It may always depend on the driver, and on whether the device allows several allocations.
func (s *Selectors) Reads(expression, domain, name string) bool {
	return s.selector(expression).reads.has(domain, name)
}

// Match evaluates an expression for a device (k8s.io/dynamic-resource-allocation/structured/internal/incubating selectorsMatch, v0.37.1).
// kube-scheduler prints "CEL runtime error: " before an error.
func (s *Selectors) Match(expression, driver string, device *resourcev1.Device) (bool, error) {
	program := &s.selector(expression).program
	if program.Error != nil {
		return false, program.Error
	}
	matches, _, err := program.DeviceMatches(context.Background(), upstream.Device{
		Driver:                   driver,
		AllowMultipleAllocations: device.AllowMultipleAllocations,
		Attributes:               device.Attributes,
		Capacity:                 device.Capacity,
	})
	if err != nil {
		return false, upstream.EnhanceRuntimeError(err)
	}
	return matches, nil
}
