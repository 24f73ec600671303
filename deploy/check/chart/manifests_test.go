package chart

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/deploy/deploytest"
)

// TestChartIsTheManifests holds the chart against the kustomizations: with its defaults against deploy/kubernetes, with the
// schedulers also against deploy/extender and deploy/batch. What differs is what normal removes, and the namespace, which
// Helm creates.
func TestChartIsTheManifests(t *testing.T) {
	monitored := "monitoring: {serviceMonitor: {enabled: true}}"
	insecure := "{insecure: true, extender: {enabled: true}, batch: {enabled: true}}"
	for values, dirs := range map[string][]string{
		"{}":                        {"kubernetes"},
		monitored:                   {"kubernetes", "kubernetes/prometheus"},
		"extender: {enabled: true}": {"kubernetes", "extender"},
		"batch: {enabled: true}":    {"kubernetes", "batch"},
		"insecure: true":            {"kubernetes", "kubernetes/insecure"},
		insecure:                    {"kubernetes", "extender", "batch", "kubernetes/insecure"},
	} {
		want := normals(t, deploytest.Kustomize(t, "../..", dirs...))
		delete(want, "Namespace /stowage")
		got := normals(t, objects(t, "stowage", "stowage", parsed(t, values)))
		if len(got) < 5 {
			t.Errorf("%s: only %d objects", values, len(got))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -%v +chart:\n%s", values, dirs, diff)
		}
	}
}

// The extender's exact scores have a configuration of kube-scheduler of their own.
func TestExactScores(t *testing.T) {
	for _, o := range objects(t, "stowage", "stowage", parsed(t, "extender: {enabled: true, scores: exact}")) {
		m, ok := o.(*corev1.ConfigMap)
		if !ok || m.Name != "stowage-extender" {
			continue
		}
		var want, got any
		if err := yaml.Unmarshal(read(t, "../../extender/scheduler-exact.yaml"), &want); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal([]byte(m.Data["scheduler.yaml"]), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-scheduler-exact.yaml +chart:\n%s", diff)
		}
		return
	}
	t.Error("there is no configuration")
}

// TestRulesAndDashboards expects the PrometheusRule and the ConfigMap of dashboards to have what the files have.
func TestRulesAndDashboards(t *testing.T) {
	rules, dashboards := 0, 0
	for _, o := range objects(t, "stowage", "stowage", valuesFiles(t)["everything"]) {
		switch o := o.(type) {
		case *deploytest.PrometheusRule:
			rules++
			want, got := parsed(t, string(read(t, "../../prometheus/rules.yaml"))), parsed(t, string(o.Spec))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-rules.yaml +chart:\n%s", diff)
			}
		case *corev1.ConfigMap:
			for name, text := range o.Data {
				if strings.HasSuffix(name, ".json") {
					dashboards++
					if text != string(read(t, "../../grafana/"+name)) {
						t.Errorf("%s is another one", name)
					}
				}
			}
		}
	}
	if rules != 1 || dashboards != 2 {
		t.Errorf("%d rules and %d dashboards", rules, dashboards)
	}
}

// normals are objects by their names, each in its normal form.
func normals(t *testing.T, all []deploytest.Object) map[string]any {
	t.Helper()
	out := map[string]any{}
	for _, o := range all {
		if d, ok := o.(*appsv1.Deployment); ok {
			settle(t, d)
		}
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var content map[string]any
		if err := json.Unmarshal(text, &content); err != nil {
			t.Fatal(err)
		}
		if m, ok := o.(*corev1.ConfigMap); ok {
			data := map[string]any{}
			for name, text := range m.Data {
				data[name] = any(parsed(t, text))
			}
			content["data"] = data
		}
		normal(content)
		out[fmt.Sprintf("%s %s/%s", o.GetObjectKind().GroupVersionKind().Kind, o.GetNamespace(), o.GetName())] = content
	}
	return out
}

// settle replaces the arguments of the clients by the settings that they are.
func settle(t *testing.T, d *appsv1.Deployment) {
	t.Helper()
	for _, list := range [][]corev1.Container{d.Spec.Template.Spec.InitContainers, d.Spec.Template.Spec.Containers} {
		for i, c := range list {
			settings := deploytest.ClientSettings(t, c)
			if settings == nil {
				continue
			}
			text, err := json.Marshal(settings)
			if err != nil {
				t.Fatal(err)
			}
			list[i].Args = []string{string(text)}
		}
	}
}

// normal removes Helm's own labels, from selectors too, and the digest of a configuration at its pods.
func normal(content any) {
	switch c := content.(type) {
	case map[string]any:
		for _, key := range []string{
			"helm.sh/chart", "app.kubernetes.io/managed-by", "app.kubernetes.io/instance", "app.kubernetes.io/version", "checksum/config",
		} {
			delete(c, key)
		}
		for key, value := range c {
			normal(value)
			if m, ok := value.(map[string]any); ok && key == "annotations" && len(m) == 0 {
				delete(c, key)
			}
		}
	case []any:
		for _, value := range c {
			normal(value)
		}
	}
}
