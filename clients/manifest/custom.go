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
	"github.com/stowage-scheduler/stowage/clients/quantity"
	"github.com/stowage-scheduler/stowage/clients/quote"
)

// customKind is the reader of a kind of custom resource with pod templates.
type customKind struct {
	versions []string
	// parts reads what the controller makes of a resource that has not ended. undecided says that this depends on more.
	parts func(*custom) ([]kube.CustomPart, error)
	// selector returns the labels that the pods of a resource have.
	selector func(*custom) *metav1.LabelSelector
	// ends says that a resource ends, and has no pods then.
	ends bool
}

// custom is a custom resource that is being read. Only its pod templates are judged: the other fields are its controller's.
type custom struct {
	metav1.TypeMeta
	metav1.ObjectMeta `json:"metadata"`

	Spec   json.RawMessage `json:"spec"`
	Status json.RawMessage `json:"status"`
}

// undecided is the error that what a controller creates is not read, and because of what. The resource counts as one of a kind that is
// not read.
type undecided string

func (u undecided) Error() string { return string(u) }

// customOf returns the reader of a custom resource of a type.
func customOf(t metav1.TypeMeta) (customKind, bool) {
	group, version, _ := strings.Cut(t.APIVersion, "/")
	k, ok := customKinds[t.Kind+"."+group]
	return k, ok && slices.Contains(k.versions, version)
}

// custom reads a custom resource. ok is false if its pods are not known; with says because of what, if that is unusual.
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
				out.object.object.SetName("") // it is another one each time
			}
		}()
	default:
		return found{}, "", false
	}
	c.ManagedFields = nil
	w := &kube.CustomWorkload{TypeMeta: c.TypeMeta, ObjectMeta: c.ObjectMeta, Selector: k.selector(c), Ended: k.ends && c.ended()}
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

// lenient decodes the fields that a type has.
func lenient(raw []byte, into any) error {
	if len(raw) == 0 {
		return nil
	}
	if err := quantity.CheckJSON(raw, into); err != nil {
		return err
	}
	return mistyped(raw, strictjson.UnmarshalCaseSensitivePreserveInts(raw, into))
}

// suspended reports whether a resource has no pods until somebody changes that.
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

// ended reports whether a resource says that it has ended.
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

// template is a pod template, and where it is.
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

// specOf decodes the part of a spec that is read.
func specOf[T any](c *custom) (out T, err error) {
	if err := lenient(c.Spec, &out); err != nil {
		return out, fmt.Errorf("spec: %w", err)
	}
	return out, nil
}

// ownSelector is the selector of a resource that states it.
func ownSelector(c *custom) *metav1.LabelSelector {
	var spec struct {
		Selector *metav1.LabelSelector `json:"selector"`
	}
	if lenient(c.Spec, &spec) != nil {
		return nil
	}
	return spec.Selector
}

// named selects the pods that have the name of their resource as a label.
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
