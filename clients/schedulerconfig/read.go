package schedulerconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
	kubejson "sigs.k8s.io/json"

	"github.com/stowage-scheduler/stowage/clients/bounded"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// kind is the kind of a scheduler configuration.
const kind = "KubeSchedulerConfiguration"

// Options specify how to read a file.
type Options struct {
	// SchedulerName selects the profile of a KubeSchedulerConfiguration. It may be empty if there is only one.
	SchedulerName string
	// OrOnly accepts the only profile even if it has another name.
	OrOnly bool
	// Extender: the profile is for an extender of the configured scheduler.
	Extender *Extender
}

// Extender is an extender that replaces plugins that the configuration disables.
type Extender struct {
	// Plugins are the names of the replaced plugins. They stay enabled, with their default weights.
	Plugins []string
	// WeightFactor is the factor of the weights of all other plugins in the configuration; 0 is 1.
	WeightFactor int32
}

// Scheduler is the scheduler that a file describes.
type Scheduler struct {
	Profile *stowagev1.Profile
	// Name is the schedulerName of a KubeSchedulerConfiguration's profile, "" for a Profile of the contract.
	Name string
	// BindingTimeout is how long DynamicResources waits for the binding conditions of devices, 0 if nothing says it.
	BindingTimeout time.Duration
}

// NoPreemption reports whether the scheduler runs no DefaultPreemption for pods.
func (s *Scheduler) NoPreemption() bool {
	return slices.Contains(s.Profile.GetDisabledPostFilters(), stowagev1.PostFilter_POST_FILTER_DEFAULT_PREEMPTION)
}

// ReadFile reads a profile from a file in YAML or JSON: a Profile of the contract, or a KubeSchedulerConfiguration.
func ReadFile(path string, o Options) (*Scheduler, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return ReadFrom(path, f, o)
}

// ReadFrom reads a profile from an open file, of which errors contain the name.
func ReadFrom(name string, in io.Reader, o Options) (*Scheduler, error) {
	text, err := bounded.Read(name, in)
	if err != nil {
		return nil, err
	}
	out, err := Read(text, o)
	if err != nil {
		return nil, prefixed(name, err)
	}
	return out, nil
}

// prefixed puts the path of a file before each of joined errors.
func prefixed(path string, err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return fmt.Errorf("%s: %w", path, err)
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, prefixed(path, e))
	}
	return errors.Join(out...)
}

// Read reads a profile from the text of a file. The errors of a KubeSchedulerConfiguration are joined, one for each field.
func Read(text []byte, o Options) (*Scheduler, error) {
	text, err := bounded.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	var meta struct{ APIVersion, Kind string }
	if err := json.Unmarshal(text, &meta); err != nil || meta.APIVersion == "" && meta.Kind == "" {
		p := &stowagev1.Profile{}
		if err := protojson.Unmarshal(text, p); err != nil {
			return nil, err
		}
		return &Scheduler{Profile: p}, nil
	}
	if v := configv1.SchemeGroupVersion.String(); meta.APIVersion != v || meta.Kind != kind {
		return nil, fmt.Errorf("is %s %s, want %s %s", meta.APIVersion, meta.Kind, v, kind)
	}
	c := &configv1.KubeSchedulerConfiguration{}
	strict, err := kubejson.UnmarshalStrict(text, c)
	if err := errors.Join(append(strict, err)...); err != nil {
		return nil, err
	}
	r := &reader{options: o}
	return r.read(c)
}

// reader reads one configuration and collects the errors.
type reader struct {
	options Options
	profile stowagev1.Profile
	errs    field.ErrorList

	bindingTimeout time.Duration
}

func (r *reader) read(c *configv1.KubeSchedulerConfiguration) (*Scheduler, error) {
	p, path, err := r.selected(c)
	if err != nil {
		return nil, err
	}
	r.plugins(p.Plugins, path.Child("plugins"))
	r.arguments(p.PluginConfig, path.Child("pluginConfig"))
	r.extenders(c.Extenders)
	if len(r.errs) == 0 {
		return &Scheduler{Profile: &r.profile, Name: *p.SchedulerName, BindingTimeout: r.bindingTimeout}, nil
	}
	var out []error
	for _, e := range r.errs {
		out = append(out, e)
	}
	return nil, errors.Join(out...)
}

// selected returns the profile with the name in the options, or the only profile. A configuration without profiles has one with all
// defaults.
func (r *reader) selected(c *configv1.KubeSchedulerConfiguration) (*configv1.KubeSchedulerProfile, *field.Path, error) {
	profiles := slices.Clone(c.Profiles)
	if len(profiles) == 0 {
		profiles = []configv1.KubeSchedulerProfile{{}}
	}
	only := len(profiles) == 1
	if name := corev1.DefaultSchedulerName; only && profiles[0].SchedulerName == nil {
		profiles[0].SchedulerName = &name
	}
	path := field.NewPath("profiles")
	var names []string
	found := -1
	for i, p := range profiles {
		name := ""
		if p.SchedulerName != nil {
			name = *p.SchedulerName
		}
		at := path.Index(i).Child("schedulerName")
		if name == "" {
			return nil, nil, field.Required(at, "")
		}
		if slices.Contains(names, name) {
			return nil, nil, field.Duplicate(at, name)
		}
		names = append(names, name)
		if name == r.options.SchedulerName || only && (r.options.SchedulerName == "" || r.options.OrOnly) {
			found = i
		}
	}
	switch {
	case found >= 0:
		return &profiles[found], path.Index(found), nil
	case r.options.SchedulerName == "":
		return nil, nil, fmt.Errorf("%s: there are several: name one of %s", path, strings.Join(names, ", "))
	}
	return nil, nil, fmt.Errorf("%s: there is none for the scheduler name %q, only %s", path, r.options.SchedulerName, strings.Join(names, ", "))
}

// extenders refuses extenders, because Stowage calls none. If the profile is for an extender, the configured extenders are itself and
// its neighbours. Their ignored resources then replace the list of NodeResourcesFit (pkg/scheduler/scheduler.go buildExtenders).
func (r *reader) extenders(all []configv1.Extender) {
	var ignored []string
	for i, e := range all {
		if r.options.Extender == nil {
			r.errs = append(r.errs, field.Forbidden(field.NewPath("extenders").Index(i), "Stowage calls no extenders"))
		}
		for _, resource := range e.ManagedResources {
			if resource.IgnoredByScheduler {
				ignored = append(ignored, resource.Name)
			}
		}
	}
	if len(ignored) > 0 {
		r.profile.IgnoredResources = ignored
	}
}
