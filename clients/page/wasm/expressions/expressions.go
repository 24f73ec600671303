// Package expressions has CEL expressions evaluated by another program: questions and answers are texts of JSON. In a browser, CEL is a
// program apart, which is loaded only for manifests that have expressions.
package expressions

import (
	"encoding/json"
	"errors"
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
)

// Evaluator is convert.Selectors, whose package the program that evaluates expressions does not need.
type Evaluator interface {
	Compile(expression string) error
	Reads(expression, domain, name string) bool
	Match(expression, driver string, device *resourcev1.Device) (bool, error)
}

// question is a call of a method of Evaluator: Compile if neither Reads nor Match is set.
type question struct {
	Expression string `json:"expression"`
	Reads      *name  `json:"reads,omitempty"`
	Match      *match `json:"match,omitempty"`
}

type name struct {
	Domain string `json:"domain"`
	Name   string `json:"name"`
}

type match struct {
	Driver string             `json:"driver"`
	Device *resourcev1.Device `json:"device"`
}

type answer struct {
	Yes   bool   `json:"yes,omitempty"`
	Error string `json:"error,omitempty"`
}

// Answer answers a question of Selectors.
func Answer(e Evaluator, text string) string {
	var q question
	var a answer
	err := json.Unmarshal([]byte(text), &q)
	switch {
	case err != nil:
	case q.Reads != nil:
		a.Yes = e.Reads(q.Expression, q.Reads.Domain, q.Reads.Name)
	case q.Match != nil:
		a.Yes, err = e.Match(q.Expression, q.Match.Driver, q.Match.Device)
	default:
		err = e.Compile(q.Expression)
	}
	if err != nil {
		a.Error = err.Error()
	}
	return encode(a)
}

// Selectors puts its calls to another program, which it starts for the first one.
type Selectors struct {
	// Start starts the program, and returns the function that answers a question. It is called again after an error.
	Start func() (func(question string) string, error)
	// Err is the error of the program. Outcomes of expressions are wrong then.
	Err error

	ask func(string) string
}

// Compile is a method of Evaluator.
func (s *Selectors) Compile(expression string) error {
	_, err := s.put(&question{Expression: expression})
	return err
}

// Reads is a method of Evaluator.
func (s *Selectors) Reads(expression, domain, attribute string) bool {
	yes, _ := s.put(&question{Expression: expression, Reads: &name{domain, attribute}})
	return yes
}

// Match is a method of Evaluator.
func (s *Selectors) Match(expression, driver string, device *resourcev1.Device) (bool, error) {
	return s.put(&question{Expression: expression, Match: &match{driver, device}})
}

func (s *Selectors) put(q *question) (bool, error) {
	if s.ask == nil {
		ask, err := s.Start()
		if err != nil {
			s.Err = err
			return false, err
		}
		s.ask = ask
	}
	var a answer
	if err := json.Unmarshal([]byte(s.ask(encode(q))), &a); err != nil {
		s.Err = fmt.Errorf("the program that evaluates expressions: %w", err)
		return false, s.Err
	}
	if a.Error != "" {
		return a.Yes, errors.New(a.Error)
	}
	return a.Yes, nil
}

// encode encodes a struct of texts, numbers and quantities, which cannot fail.
func encode(of any) string {
	out, err := json.Marshal(of)
	if err != nil {
		panic(err)
	}
	return string(out)
}
