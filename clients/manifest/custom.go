package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	strictjson "sigs.k8s.io/json"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/controller"
	"github.com/stowage-scheduler/stowage/clients/quantity"
	"github.com/stowage-scheduler/stowage/clients/quote"
)

// customKind is the reader of a kind of custom resource with pod templates.
type customKind struct {
	versions []string
	// parts returns the pods that the controller creates for a resource that has not ended. It fails with undecided if they
	// depend on other objects.
	parts func(*custom) ([]controller.CustomPart, error)
	// selector selects the pods of a resource.
	selector func(*custom) *metav1.LabelSelector
	// ends: a resource may end, and then has no pods.
	ends bool
}

// custom is a custom resource. Only its pod templates are validated: the other fields belong to its controller.
type custom struct {
	metav1.TypeMeta
	metav1.ObjectMeta `json:"metadata"`

	Spec   json.RawMessage `json:"spec"`
	Status json.RawMessage `json:"status"`
}

// undecided names the field that makes the pods of a resource depend on other objects. Such a resource counts as skipped.
type undecided string

func (u undecided) Error() string { return string(u) }

// customOf returns the reader of a custom resource of a type.
func customOf(t metav1.TypeMeta) (customKind, bool) {
	group, version, _ := strings.Cut(t.APIVersion, "/")
	k, ok := customKinds[t.Kind+"."+group]
	return k, ok && slices.Contains(k.versions, version)
}

// custom reads a custom resource. ok is false if its pods are unknown; with then names an unusual reason.
func (d *decoder) custom(at string, raw []byte, k customKind) (out found, with string, ok bool) {
	c := &custom{}
	if err := lenient(raw, c); err != nil {
		return found{at: at, err: err}, "", true
	}
	at += ": " + c.Kind + " " + quote.Line(c.Name)
	switch {
	case c.Name != "":
	case c.GenerateName != "":
		c.Name = c.GenerateName + "*"
		defer func() {
			if out.object != nil {
				out.object.object.SetName("") // the name is generated
			}
		}()
	default:
		return found{}, "", false
	}
	c.ManagedFields = nil
	w := &controller.CustomWorkload{TypeMeta: c.TypeMeta, ObjectMeta: c.ObjectMeta, Selector: k.selector(c), Ended: k.ends && c.ended()}
	if w.Suspended = c.suspended(); !w.Suspended {
		var err error
		var why undecided
		if w.Parts, err = k.parts(c); errors.As(err, &why) {
			return found{}, string(why), false
		} else if err != nil {
			return found{at: at, err: err}, "", true
		}
	}
	group, _, _ := strings.Cut(c.APIVersion, "/")
	return d.read(at, raw, customReader, c.Kind+"."+group, w), "", true
}

var customReader = reads(nil, (*kube.Builder).AddCustomWorkload)

// lenient decodes the fields of a type, and ignores others.
func lenient(raw []byte, into any) error {
	if len(raw) == 0 {
		return nil
	}
	if err := quantity.CheckJSON(raw, into); err != nil {
		return err
	}
	return mistyped(raw, strictjson.UnmarshalCaseSensitivePreserveInts(raw, into))
}

// suspended reports whether a resource has no pods until somebody resumes it.
func (c *custom) suspended() bool {
	var spec struct {
		Suspend   bool `json:"suspend"`
		RunPolicy struct {
			Suspend bool `json:"suspend"`
		} `json:"runPolicy"`
	}
	return lenient(c.Spec, &spec) == nil && (spec.Suspend || spec.RunPolicy.Suspend)
}

// endings are the conditions and the phases of resources that have ended.
var endings = []string{"Complete", "Completed", "Failed", "Succeeded", "Terminated", "Aborted"}

// ended reports whether a resource has ended according to its status.
func (c *custom) ended() bool {
	var status struct {
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
		Deployment string          `json:"jobDeploymentStatus"`
		State      json.RawMessage `json:"state"`
	}
	var state struct {
		Phase string `json:"phase"`
	}
	if lenient(c.Status, &status) != nil {
		return false
	}
	if bytes.HasPrefix(status.State, []byte("{")) && lenient(status.State, &state) != nil {
		return false
	}
	for _, k := range status.Conditions {
		if k.Status == "True" && slices.Contains(endings, k.Type) {
			return true
		}
	}
	return slices.Contains(endings, state.Phase) || slices.Contains(endings, status.Deployment)
}

// template is a pod template and its path.
type template struct {
	path string
	raw  json.RawMessage
}

// read decodes a pod template strictly.
func (t template) read() (out corev1.PodTemplateSpec, err error) {
	if len(t.raw) == 0 || string(t.raw) == "null" {
		return out, field.Required(field.NewPath(t.path), "")
	}
	if err := decode(t.raw, &out); err != nil {
		return out, fmt.Errorf("%s: %w", t.path, err)
	}
	return out, nil
}

// specOf decodes a spec as far as T has its fields.
func specOf[T any](c *custom) (out T, err error) {
	if err := lenient(c.Spec, &out); err != nil {
		return out, fmt.Errorf("spec: %w", err)
	}
	return out, nil
}

// ownSelector is the spec.selector of a resource.
func ownSelector(c *custom) *metav1.LabelSelector {
	var spec struct {
		Selector *metav1.LabelSelector `json:"selector"`
	}
	if lenient(c.Spec, &spec) != nil {
		return nil
	}
	return spec.Selector
}

// named selects pods by a label with the name of their resource.
func named(label string) func(*custom) *metav1.LabelSelector {
	return func(c *custom) *metav1.LabelSelector {
		return metav1.SetAsLabelSelector(map[string]string{label: c.Name})
	}
}

// orOne is a number of replicas, 1 by default.
func orOne(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}
