package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/kube/validate"
	"github.com/stowage-scheduler/stowage/clients/quote"
)

// head has the fields of an object that select its reader.
type head struct {
	metav1.TypeMeta
	Metadata struct {
		Namespace    string `json:"namespace"`
		Name         string `json:"name"`
		GenerateName string `json:"generateName"`
	} `json:"metadata"`
	Items jsontext.Value `json:"items"`
}

// headOf returns the head of an object.
func headOf(raw []byte) (head, error) {
	var h head
	odd := jsonv2.Unmarshal(raw, &h)
	if odd == nil && h.Kind != "" {
		return h, nil
	}
	// encoding/json has the error texts that kubectl users know, and accepts text that is not UTF-8.
	var old struct {
		metav1.TypeMeta
		Metadata struct{ Namespace, Name, GenerateName string }
		Items    json.RawMessage
	}
	if err := json.Unmarshal(raw, &old); err != nil {
		return head{TypeMeta: old.TypeMeta}, mistyped(raw, err)
	}
	h = head{TypeMeta: old.TypeMeta, Items: jsontext.Value(old.Items)}
	h.Metadata.Namespace = old.Metadata.Namespace
	h.Metadata.Name, h.Metadata.GenerateName = old.Metadata.Name, old.Metadata.GenerateName
	var at *jsontext.SyntacticError
	if _, isList := itemKind(h.Kind); isList && errors.As(odd, &at) && errors.Is(odd, jsontext.ErrDuplicateName) {
		if field := at.JSONPointer; field.Parent() == "" {
			return h, fmt.Errorf("duplicate field %q", field.LastToken())
		}
	}
	return h, nil
}

// typeOf returns the type of an object that begins with its type, as in output of kubectl and the API server. The object may be
// incomplete.
func typeOf(raw []byte) (metav1.TypeMeta, bool) {
	var t metav1.TypeMeta
	in := jsontext.NewDecoder(bytes.NewBuffer(raw))
	if open, err := in.ReadToken(); err != nil || open.Kind() != jsontext.KindBeginObject {
		return t, false
	}
	for range 2 {
		name, err := in.ReadToken()
		if err != nil || name.Kind() != jsontext.KindString {
			return t, false
		}
		key := name.String()
		value, err := in.ReadToken()
		if err != nil || value.Kind() != jsontext.KindString {
			return t, false
		}
		switch key {
		case "kind":
			t.Kind = value.String()
		case "apiVersion":
			t.APIVersion = value.String()
		}
	}
	return t, t.Kind != "" && t.APIVersion != ""
}

// itemType returns the type that a list implies for its items, and whether the name of its kind is a list's.
func itemType(t metav1.TypeMeta) (metav1.TypeMeta, bool) {
	item, isList := itemKind(t.Kind)
	if item == "" {
		return metav1.TypeMeta{}, isList
	}
	return metav1.TypeMeta{APIVersion: t.APIVersion, Kind: item}, isList
}

// value appends the objects of an object or a list; implied is the type of objects without a type, depth the number of enclosing
// lists.
func (d *decoder) value(out []found, at string, raw []byte, implied metav1.TypeMeta, depth int) []found {
	if t, ok := typeOf(raw); ok {
		if f, ok := d.known(at, raw, t); ok {
			return append(out, f)
		}
	}
	h, err := headOf(raw)
	if err != nil {
		if h.Kind != "" {
			at += ": " + quote.Line(h.Kind)
		}
		return append(out, found{at: at, err: err, garbled: errors.As(err, new(*json.SyntaxError))})
	}
	if h.Kind == "" {
		h.TypeMeta = implied
	}
	if h.Kind == "" && depth == 1 {
		return append(out, found{at: at, untyped: bytes.Clone(raw)})
	}
	if items, isList := itemType(h.TypeMeta); isList && h.Items != nil && string(h.Items) != "null" {
		return d.items(out, at, h.Items, items, depth)
	}
	return append(out, d.object(at, raw, h))
}

// items reads a list within another list, or within YAML.
func (d *decoder) items(out []found, at string, raw []byte, implied metav1.TypeMeta, depth int) []found {
	if depth == maximumListDepth {
		return append(out, found{at: at, err: errors.New("items: lists within lists within lists")})
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return append(out, found{at: at, err: fmt.Errorf("items: %w", mistyped(raw, err))})
	}
	for i, item := range items {
		out = d.value(out, fmt.Sprintf("%s: items[%d]", at, i), item, implied, depth+1)
	}
	return out
}

// known reads an object as kubectl prints it. It gives up on anything unusual, which may be an error for object to report.
func (d *decoder) known(at string, raw []byte, t metav1.TypeMeta) (found, bool) {
	k, ok := kinds[t.Kind]
	if !ok || d.templates || !slices.Contains(k.apiVersions, t.APIVersion) {
		return found{}, false
	}
	o := k.empty()
	if !d.fast(raw, o) || o.GetName() == "" {
		return found{}, false
	}
	at += ": " + t.Kind + " " + quote.Line(o.GetName())
	return d.read(at, raw, k, t.Kind, o), true
}

// object reads an object of any kind.
func (d *decoder) object(at string, raw []byte, h head) found {
	if h.Kind == "" && d.kustomization {
		h.Kind = "Kustomization"
	}
	if h.Kind == "" {
		return found{at: at, err: field.Required(field.NewPath("kind"), "")}
	}
	if errs := validate.Type(h.TypeMeta); len(errs) > 0 {
		return found{at: at, err: errs.ToAggregate()}
	}
	k, ok := kinds[h.Kind]
	if d.templates {
		if h.Kind != "Node" {
			return found{at: at, err: fmt.Errorf("kind: %q is not allowed, only Node is", h.Kind)}
		}
		k = nodeTemplates
	}
	if c, ok := customOf(h.TypeMeta); ok && !d.templates {
		f, with, ok := d.custom(at, raw, c)
		if ok {
			return f
		}
		if with != "" {
			return skipped(h.Kind+" with "+with, h.TypeMeta, raw)
		}
	}
	if name, other := k.ofOthers(h.TypeMeta); other {
		return skipped(name, h.TypeMeta, raw)
	}
	if !ok {
		return skipped(h.Kind, h.TypeMeta, raw)
	}
	if !slices.Contains(k.apiVersions, h.APIVersion) && h.APIVersion != "" {
		out := skipped(h.APIVersion+" "+h.Kind, h.TypeMeta, raw)
		if h.Kind == "PodGroup" {
			out.group = &unreadGroup{h.Metadata.Namespace, h.Metadata.Name, h.APIVersion}
		}
		return out
	}
	at += strings.TrimRight(": "+h.Kind+" "+quote.Line(h.Metadata.Name), " ")
	if h.APIVersion == "" {
		return found{at: at, err: field.NotSupported(field.NewPath("apiVersion"), h.APIVersion, k.apiVersions)}
	}
	if h.Metadata.Name == "" && h.Kind != "Pod" && (h.Kind != "Job" || h.Metadata.GenerateName == "") {
		return found{at: at, err: field.Required(field.NewPath("metadata", "name"), "")}
	}
	o := k.empty()
	if err := decode(raw, o); err != nil {
		return found{at: at, err: err}
	}
	return d.read(at, raw, k, h.Kind, o)
}

// read returns a decoded object.
func (d *decoder) read(at string, raw []byte, k kind, name string, o metav1.Object) found {
	if errs := validate.Names(o); len(errs) > 0 {
		return found{at: at, err: errs.ToAggregate()}
	}
	if helmTest(o) {
		return found{at: at, kind: name + " of a Helm test"}
	}
	e := &entry{kind: k, at: at, file: d.file, digest: sha256.Sum256(raw), object: o}
	if o.GetUID() == "" {
		e.raw = bytes.Clone(raw)
	}
	return found{at: at, object: e, kind: name}
}
