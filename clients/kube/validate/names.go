package validate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Names returns the names in an object that no API server accepts: of the object and its namespace, of its labels, of nodes and classes that it
// refers to, of taints and resources. Unlike Object it is for every object, as a file may have any uid: names are printed, completed by shells, and
// part of commands. What the API server does not restrict, such as names of owners and of schedulers, is left to the printer.
func Names(o metav1.Object) field.ErrorList {
	meta := field.NewPath("metadata")
	name := subdomain
	if _, ok := o.(*corev1.Namespace); ok {
		name = label
	}
	out := append(label(o.GetNamespace(), meta.Child("namespace")), labelled(o.GetLabels(), meta.Child("labels"))...)
	switch prefix := o.GetGenerateName(); {
	case prefix != "" && !isSubdomain(prefix+"a"):
		out = append(out, invalid(meta.Child("generateName"), prefix, apivalidation.NameIsDNSSubdomain(prefix+"a", false))...)
	case o.GetName() != prefix+"*": // which stands for the name to come
		out = append(name(o.GetName(), meta.Child("name")), out...)
	}
	switch o := o.(type) {
	case *corev1.Node:
		return append(out, namesOfNode(o)...)
	case *corev1.Pod:
		spec := field.NewPath("spec")
		out = slices.Concat(out, subdomain(o.Spec.NodeName, spec.Child("nodeName")),
			subdomain(o.Spec.PriorityClassName, spec.Child("priorityClassName")),
			subdomain(o.Status.NominatedNodeName, field.NewPath("status", "nominatedNodeName")))
		if class := o.Spec.RuntimeClassName; class != nil {
			out = append(out, subdomain(*class, spec.Child("runtimeClassName"))...)
		}
	}
	return out
}

// Type returns what is no type of any API in the kind and the version of an object, which may be of a kind that is not read.
func Type(t metav1.TypeMeta) field.ErrorList {
	out := invalid(field.NewPath("kind"), t.Kind, validation.IsDNS1035Label(strings.ToLower(t.Kind)))
	if group, version, ok := strings.Cut(t.APIVersion, "/"); ok && (!isSubdomain(group) || !isLabel(version, false)) || !ok && !isLabel(t.APIVersion, false) {
		out = append(out, field.Invalid(field.NewPath("apiVersion"), t.APIVersion, "must be VERSION or GROUP/VERSION"))
	}
	return out
}

// namesOfNode checks the names of taints (validateNodeTaints) and resources.
func namesOfNode(n *corev1.Node) field.ErrorList {
	var out field.ErrorList
	for i, t := range n.Spec.Taints {
		at := field.NewPath("spec", "taints").Index(i)
		if t.Key != "" && !isLabel(t.Key, true) { // one that is missing is no name
			out = append(out, metavalidation.ValidateLabelName(t.Key, at.Child("key"))...)
		}
		if !isLabel(t.Value, false) {
			out = append(out, invalid(at.Child("value"), t.Value, validation.IsValidLabelValue(t.Value))...)
		}
	}
	for resource := range n.Status.Allocatable {
		if !isLabel(string(resource), true) {
			out = append(out, invalid(field.NewPath("status", "allocatable"), resource, validation.IsQualifiedName(string(resource)))...)
		}
	}
	return sorted(out)
}

func labelled(of map[string]string, path *field.Path) field.ErrorList {
	for key, value := range of {
		if !isLabel(key, true) || !isLabel(value, false) {
			return labels(of, path)
		}
	}
	return nil
}

// subdomain checks the name of an object; empty if there is none.
func subdomain(name string, at *field.Path) field.ErrorList {
	if name == "" || isSubdomain(name) {
		return nil
	}
	return invalid(at, name, apivalidation.NameIsDNSSubdomain(name, false))
}

// label checks the name of a namespace; empty if there is none.
func label(name string, at *field.Path) field.ErrorList {
	if name == "" || len(name) <= validation.DNS1123LabelMaxLength && isSubdomain(name) && !strings.Contains(name, ".") {
		return nil
	}
	return invalid(at, name, apivalidation.NameIsDNSLabel(name, false))
}

// isSubdomain and isLabel recognize what nearly all names are without the API server's regular expressions, which take long for the labels
// of 200,000 pods. What they do not recognize is checked by those.
func isSubdomain(name string) bool {
	if name == "" || len(name) > validation.DNS1123SubdomainMaxLength {
		return false
	}
	edge := true // before it a letter or a digit has to come, and after it
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			edge = false
		case c == '-' && !edge && i+1 < len(name) && name[i+1] != '.':
		case c == '.' && !edge:
			edge = true
		default:
			return false
		}
	}
	return !edge
}

// isLabel is for keys, which may have a prefix, and for values, which may be empty.
func isLabel(text string, key bool) bool {
	if !key && text == "" {
		return true
	}
	if prefix, name, ok := strings.Cut(text, "/"); key && ok {
		if !isSubdomain(prefix) {
			return false
		}
		text = name
	}
	if text == "" || len(text) > validation.LabelValueMaxLength {
		return false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9':
		case (c == '-' || c == '_' || c == '.') && i > 0 && i+1 < len(text):
		default:
			return false
		}
	}
	return true
}
