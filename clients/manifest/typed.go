package manifest

import (
	"errors"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/kube/object"
	"github.com/stowage-scheduler/stowage/clients/quantity"
)

// decoder decodes objects. It is for one goroutine at a time.
type decoder struct {
	templates bool
	// kustomization: the file has a name of kustomize's, so that its kind may be missing.
	kustomization bool
	file          int
	// options are for objects that nobody applies, managed for others, with their managedFields. The first use makes them.
	options, managed jsonv2.Options
}

// fast decodes an object in one pass, and reports whether it did. If not, decode may succeed, or reports the error. For an
// accepted object, decode gives the same result, except for shared values and the managedFields of objects that nobody applies,
// which fast leaves out.
//
// jsonv2, which Go 1.27 has as encoding/json/v2, refuses repeated names and text that is not UTF-8.
func (d *decoder) fast(raw []byte, into metav1.Object) bool {
	if !object.IsApplied(into) {
		if d.options == nil {
			d.options = typedOptions(jsonv2.UnmarshalFromFunc(leaveOut))
		}
		if jsonv2.Unmarshal(raw, into, d.options) != nil {
			return false
		}
		into.SetManagedFields(nil)
		return true
	}
	if d.managed == nil {
		d.managed = typedOptions(nil)
	}
	return jsonv2.Unmarshal(raw, into, d.managed) == nil
}

// typedOptions returns options for decoding objects of Kubernetes, with further functions. Common values of a workload's pods are
// decoded once and shared: nothing modifies an object after reading it.
func typedOptions(further *jsonv2.Unmarshalers) jsonv2.Options {
	u := jsonv2.JoinUnmarshalers(jsonv2.UnmarshalFromFunc(readTime), jsonv2.UnmarshalFromFunc(quantity.Decode), further)
	for _, share := range []func(*jsonv2.Unmarshalers) *jsonv2.Unmarshalers{
		shared[map[string]string], shared[corev1.ResourceList], shared[[]metav1.OwnerReference],
		shared[[]corev1.EnvVar], shared[[]corev1.EnvFromSource], shared[[]corev1.ContainerPort], shared[*corev1.Probe],
		shared[*corev1.Lifecycle], shared[*corev1.SecurityContext], shared[*corev1.PodSecurityContext],
		shared[*corev1.Affinity], shared[[]corev1.Toleration], shared[[]corev1.TopologySpreadConstraint],
		shared[*corev1.ConfigMapVolumeSource], shared[*corev1.SecretVolumeSource], shared[*corev1.ProjectedVolumeSource],
		shared[[]corev1.ContainerImage], shared[*corev1.ContainerStateRunning],
	} {
		u = share(u)
	}
	return strictly(u)
}

func strictly(u *jsonv2.Unmarshalers) jsonv2.Options {
	return jsonv2.JoinOptions(jsonv2.RejectUnknownMembers(true), jsonv2.WithUnmarshalers(u))
}

// Bounds of the shared values of one type: more than the pods of a few workloads have, because a list has the pods of a workload
// next to one another.
const (
	maximumShared      = 1 << 10
	maximumSharedBytes = 16 << 10
)

// shared adds a function to inner that decodes values of a type once for each text. The inner functions decode the fields of the
// values.
func shared[T any](inner *jsonv2.Unmarshalers) *jsonv2.Unmarshalers {
	known := map[string]T{}
	options := strictly(inner)
	return jsonv2.JoinUnmarshalers(inner, jsonv2.UnmarshalFromFunc(func(in *jsontext.Decoder, out *T) error {
		text, err := in.ReadValue()
		if err != nil {
			return err
		}
		if value, ok := known[string(text)]; ok {
			*out = value
			return nil
		}
		if err := jsonv2.Unmarshal(text, out, options); err != nil {
			return err
		}
		if len(text) > maximumSharedBytes {
			return nil
		}
		if len(known) == maximumShared {
			clear(known)
		}
		known[string(text)] = *out
		return nil
	}))
}

var errOdd = errors.New("not in the usual form")

// readTime is a faster Time.UnmarshalJSON for times in the usual form.
func readTime(in *jsontext.Decoder, out *metav1.Time) error {
	token, err := in.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case jsontext.KindNull:
		out.Time = time.Time{}
		return nil
	case jsontext.KindString:
		t, err := time.Parse(time.RFC3339, token.String())
		out.Time = t.Local()
		return err
	}
	return errOdd
}

// leaveOut skips managed fields, whatever their form.
func leaveOut(in *jsontext.Decoder, _ *metav1.FieldsV1) error { return in.SkipValue() }
