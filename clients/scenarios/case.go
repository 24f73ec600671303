package scenarios

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"sigs.k8s.io/yaml"
)

// Case is a situation and its expected decisions.
type Case struct {
	Dir         string `json:"-"`
	Title       string `json:"title"`
	Why         string `json:"why"`
	TopologyKey string `json:"topologyKey"`
	Steps       []Step `json:"steps"`
}

// Step is one request: exactly one of Place, Filter, Score and ScaleDown is set.
type Step struct {
	// Beside: the step is shown beside the previous step.
	Beside  bool            `json:"beside"`
	Name    string          `json:"name"`
	Files   []string        `json:"files"`
	Profile json.RawMessage `json:"profile"`
	Joint   bool            `json:"joint"`
	// Queue places the pods as kube-scheduler's queue.
	Queue bool             `json:"queue"`
	Place map[string]Place `json:"place"`
	// Evictions are the evictions in order: "web evicts low-1, low-2 from a"; for a group "default/web evicts low-1, low-2".
	Evictions *[]string        `json:"evictions"`
	Groups    map[string]Group `json:"groups"`
	Filter    *Filter          `json:"filter"`
	Score     *Score           `json:"score"`
	// Preempt requests kube-scheduler's victims, victims that have another node, and the fewest victims on any nodes.
	Preempt *Preempt `json:"preempt"`
	// ScaleDown requests the replicas to delete.
	ScaleDown *ScaleDown `json:"scaleDown"`
}

// Place is the expected result for one workload's pods.
type Place struct {
	Placed      *int           `json:"placed"`
	Unplaced    *int           `json:"unplaced"`
	Spread      *string        `json:"spread"`
	Domains     map[string]int `json:"domains"`
	Nodes       []string       `json:"nodes"`
	Message     *string        `json:"message"`
	Explanation *Explanation   `json:"explanation"`
	Changes     []string       `json:"changes"`
	Preemption  *Preemption    `json:"preemption"`
	// Evicted is the number of pods that were placed and then evicted, Attempts the number of attempts of its pods.
	Evicted  *int    `json:"evicted"`
	Attempts *uint64 `json:"attempts"`
}

// Group is the expected result for one pod group.
type Group struct {
	Status   *string   `json:"status"`
	Placed   *int      `json:"placed"`
	Unplaced *int      `json:"unplaced"`
	Domains  []string  `json:"domains"`
	First    *string   `json:"first"`
	Message  *string   `json:"message"`
	Conflict *[]string `json:"conflict"`
}

// Filter is the expected feasible nodes of a pod.
type Filter struct {
	Pod         string              `json:"pod"`
	Feasible    *[]string           `json:"feasible"`
	Refused     map[string][]string `json:"refused"`
	Message     *string             `json:"message"`
	Explanation *Explanation        `json:"explanation"`
	Changes     []string            `json:"changes"`
	// Remedy is the first of the changes.
	Remedy     *string     `json:"remedy"`
	Preemption *Preemption `json:"preemption"`
}

// Preemption is the expected preemption of kube-scheduler for a pod without feasible nodes.
type Preemption struct {
	// Best are the nodes to which it may nominate the pod, none if there are no victims.
	Best []string `json:"best"`
	// Victims are the victims on the first of Best, in order.
	Victims []string `json:"victims"`
	// Violations is the number of victims that violate a PodDisruptionBudget.
	Violations int `json:"violations"`
	// Refused are the other nodes by reason.
	Refused map[string][]string `json:"refused"`
}

// Preempt is the expected victims for a pod.
type Preempt struct {
	Pod        string      `json:"pod"`
	Preemption *Preemption `json:"preemption"`
	// Safe are victims that have another node, AcrossNodes the fewest victims on any nodes.
	Safe        *Safe        `json:"safe"`
	AcrossNodes *AcrossNodes `json:"acrossNodes"`
}

// Safe is the expected victims if each must have another node.
type Safe struct {
	Node    string   `json:"node"`
	Victims []string `json:"victims"`
	// Replacements are the nodes of the victims' replacements, by victim.
	Replacements map[string][]string `json:"replacements"`
	// Unsafe are the messages of kube-scheduler's victims whose replacements stay pending.
	Unsafe map[string]string `json:"unsafe"`
}

// AcrossNodes is the expected victims on any nodes, which must be proven minimal.
type AcrossNodes struct {
	Node       string   `json:"node"`
	Victims    []string `json:"victims"`
	Violations int      `json:"violations"`
}

// Score is the expected scores.
type Score struct {
	Pod     string                      `json:"pod"`
	Best    []string                    `json:"best"`
	Scores  map[string]map[string]int64 `json:"scores"`
	Skipped []string                    `json:"skipped"`
}

// ScaleDown is the expected deletions of a workload, and the expected rest.
type ScaleDown struct {
	Workload string         `json:"workload"`
	Replicas uint32         `json:"replicas"`
	Deleted  []string       `json:"deleted"`
	Domains  map[string]int `json:"domains"`
	Broken   []string       `json:"broken"`
}

// Explanation is the expected part of an explanation.
type Explanation struct {
	Counts  []Counts            `json:"counts"`
	Failing map[string][]string `json:"failing"`
	Taints  map[string][]string `json:"taints"`

	Undeclared map[string][]string `json:"undeclared"`
}

// Counts is the expected counts of one rule.
type Counts struct {
	Rule        string              `json:"rule"`
	TopologyKey string              `json:"topologyKey"`
	Domains     map[string]int64    `json:"domains"`
	Skews       map[string]int64    `json:"skews"`
	Minimum     *int64              `json:"minimum"`
	Feasible    *[]string           `json:"feasible"`
	Nodes       map[string][]string `json:"nodes"`
	Uncounted   map[string][]string `json:"uncounted"`
	Conflicts   map[string][]string `json:"conflicts"`
}

// Load reads the cases under a directory, ordered by name.
func Load(root string) ([]Case, error) {
	files, err := filepath.Glob(filepath.Join(root, "*", "case.yaml")) // sorted
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no cases under %s", root)
	}
	var cases []Case
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		c := Case{Dir: filepath.Dir(file)}
		if err := yaml.UnmarshalStrict(text, &c); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if err := c.validate(); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// validate rejects steps that would hold for every result.
func (c *Case) validate() error {
	if c.Title == "" || c.Why == "" || len(c.Steps) == 0 {
		return fmt.Errorf("title, why and steps are required")
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		questions := 0
		if len(s.Place) > 0 {
			questions++
		}
		if s.Filter != nil {
			questions++
		}
		if s.Score != nil {
			questions++
		}
		if s.Preempt != nil {
			questions++
		}
		if s.ScaleDown != nil {
			questions++
		}
		if s.Name == "" || len(s.Files) == 0 || questions != 1 {
			return fmt.Errorf("steps[%d]: name, files and exactly one of place, filter, score, preempt and scaleDown are required", i)
		}
		for name, p := range s.Place {
			if reflect.ValueOf(p).IsZero() {
				return fmt.Errorf("steps[%d].place.%s: expects nothing", i, name)
			}
		}
		if len(s.Place) == 0 && (s.Joint || s.Queue || len(s.Groups) > 0) || i == 0 && s.Beside {
			return fmt.Errorf("steps[%d]: joint, queue and groups go with place, beside with a step before", i)
		}
		if s.Evictions != nil && !s.Queue {
			return fmt.Errorf("steps[%d]: evictions go with queue", i)
		}
		for name, g := range s.Groups {
			if reflect.ValueOf(g).IsZero() {
				return fmt.Errorf("steps[%d].groups.%s: expects nothing", i, name)
			}
		}
		if f := s.Filter; f != nil && reflect.DeepEqual(*f, Filter{Pod: f.Pod}) {
			return fmt.Errorf("steps[%d].filter: expects nothing", i)
		}
		if p := s.Preempt; p != nil && reflect.DeepEqual(*p, Preempt{Pod: p.Pod}) {
			return fmt.Errorf("steps[%d].preempt: expects nothing", i)
		}
		if d := s.ScaleDown; d != nil && len(d.Deleted)+len(d.Domains) == 0 {
			return fmt.Errorf("steps[%d].scaleDown: expects nothing", i)
		}
		if f := s.Score; f != nil && reflect.DeepEqual(*f, Score{Pod: f.Pod}) {
			return fmt.Errorf("steps[%d].score: expects nothing", i)
		}
	}
	return nil
}

// Name is the name of the case's directory.
func (c *Case) Name() string {
	return filepath.Base(c.Dir)
}
