package chart

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/server/config"
	"github.com/stowage-scheduler/stowage/server/identity"
)

// schema is the part of a JSON schema that the chart's has.
type schema struct {
	Ref                  string             `json:"$ref"`
	Properties           map[string]*schema `json:"properties"`
	AdditionalProperties json.RawMessage    `json:"additionalProperties"`
	Definitions          map[string]*schema `json:"definitions"`
}

// TestEveryValueIsDescribed expects a comment at every value, and a property of the schema for it; and no property without a
// value.
func TestEveryValueIsDescribed(t *testing.T) {
	var all schema
	if err := json.Unmarshal(read(t, chartDir+"/values.schema.json"), &all); err != nil {
		t.Fatal(err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(read(t, chartDir+"/values.yaml"), &document); err != nil {
		t.Fatal(err)
	}
	v := visitor{t: t, definitions: all.Definitions}
	delete(all.Properties, "global") // Helm's
	v.visit("", document.Content[0], &all)
	if v.seen < 100 {
		t.Errorf("only %d values", v.seen)
	}
}

type visitor struct {
	t           *testing.T
	definitions map[string]*schema
	seen        int
}

func (v *visitor) visit(path string, node *yaml.Node, s *schema) {
	if name, ok := strings.CutPrefix(s.Ref, "#/definitions/"); ok {
		s = v.definitions[name]
	}
	if s.Properties == nil || strings.HasSuffix(path, "resources") || strings.HasSuffix(path, "ffinity") {
		return // any content, or Kubernetes' own
	}
	if string(s.AdditionalProperties) != "false" {
		v.t.Errorf("%s: unknown keys are not refused", path)
	}
	names := []string{}
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		at := path + "." + key.Value
		names = append(names, key.Value)
		v.seen++
		below, ok := s.Properties[key.Value]
		if !ok {
			v.t.Errorf("%s: not in the schema", at)
			continue
		}
		// What only groups values is described by them.
		if key.HeadComment == "" && !grouping(value) {
			v.t.Errorf("%s: has no comment", at)
		}
		v.visit(at, value, below)
	}
	if path == ".server.config" {
		return // the server has the other defaults
	}
	for name := range s.Properties {
		if !slices.Contains(names, name) {
			v.t.Errorf("%s.%s: in the schema, without a default", path, name)
		}
	}
}

func grouping(value *yaml.Node) bool {
	return value.Kind == yaml.MappingNode && len(value.Content) > 0 && value.Content[0].HeadComment != ""
}

// TestServerSettings expects the schema to have every setting of the server, except settings that the chart sets itself.
func TestServerSettings(t *testing.T) {
	var all schema
	if err := json.Unmarshal(read(t, chartDir+"/values.schema.json"), &all); err != nil {
		t.Fatal(err)
	}
	got := all.Properties["server"].Properties["config"].Properties
	parser, err := kong.New(new(config.Config), config.Options()...)
	if err != nil {
		t.Fatal(err)
	}
	own := []string{"help", "listen-address", "admin-address", "http-address", "tls-cert-file", "tls-key-file", "tls-client-ca-file", "access-file",
		"token-review-url", "token-review-ca-file", "token-review-token-file", "token-review-audiences",
	}
	for _, f := range parser.Model.Flags {
		if _, ok := got[f.Name]; ok == slices.Contains(own, f.Name) {
			t.Errorf("%s: in the schema %t", f.Name, ok)
		}
		delete(got, f.Name)
	}
	for name := range got {
		t.Errorf("%s is no setting of the server", name)
	}
}

// TestAccessFile expects the server to accept the access files of the chart.
func TestAccessFile(t *testing.T) {
	found := 0
	for name, values := range valuesFiles(t) {
		for _, o := range objects(t, "stowage", "stowage", values) {
			if m, ok := o.(*corev1.ConfigMap); ok && m.Data["access.yaml"] != "" {
				found++
				if _, err := identity.ParseRules([]byte(m.Data["access.yaml"])); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
	if found != 3 {
		t.Errorf("%d access files", found)
	}
}
