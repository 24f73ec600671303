package schedulerconfig_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"
	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/clients/schedulerconfig"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// header begins a configuration with one profile, whose fields follow with an indent of four.
const header = `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: web
`

// indented puts the fields of a profile below the header.
func indented(fields string) string {
	lines := strings.Split(strings.Trim(fields, "\n"), "\n")
	return header + "    " + strings.Join(lines, "\n    ") + "\n"
}

func profile(t *testing.T, text string) *stowagev1.Profile {
	t.Helper()
	js, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	out := &stowagev1.Profile{}
	if err := protojson.Unmarshal(js, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// accepted is a configuration and the Profile that it stands for.
type accepted struct{ name, profile, want string }

func testAccepted(t *testing.T, o schedulerconfig.Options, cases []accepted) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := schedulerconfig.Read([]byte(indented(c.profile)), o)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(profile(t, c.want), got.Profile, protocmp.Transform()); d != "" {
				t.Error(d)
			}
		})
	}
}

// refused is a configuration and its errors, line by line.
type refused struct{ name, profile, want string }

func testRefused(t *testing.T, cases []refused) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := schedulerconfig.Read([]byte(indented(c.profile)), schedulerconfig.Options{})
			if err == nil {
				t.Fatalf("accepted as %v", got)
			}
			if d := cmp.Diff(strings.TrimSpace(c.want), err.Error()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	const empty = "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration}"
	for _, text := range []string{
		empty,
		header,
		strings.Replace(empty, "}", ", profiles: [{}]}", 1),
		strings.Replace(
			empty, "}", ", percentageOfNodesToScore: 5, parallelism: 3, leaderElection: {leaderElect: true, leaseDuration: 15s}}", 1,
		),
	} {
		got, err := schedulerconfig.Read([]byte(text), schedulerconfig.Options{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if d := cmp.Diff(&stowagev1.Profile{}, got.Profile, protocmp.Transform()); d != "" {
			t.Errorf("%s:\n%s", text, d)
		}
		if got.NoPreemption() {
			t.Errorf("%s: no preemption", text)
		}
	}
}

func TestAProfileOfTheContract(t *testing.T) {
	got, err := schedulerconfig.Read([]byte("hardPodAffinityWeight: 5\n"), schedulerconfig.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Profile.GetHardPodAffinityWeight() != 5 || got.Name != "" || got.NoPreemption() {
		t.Errorf("got %v", got)
	}
}

// A name selects one of several profiles; a single profile needs no name.
func TestTheProfileIsSelectedByName(t *testing.T) {
	const one = header + `
    pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 1}}]
`
	const two = one + `
  - schedulerName: batch
    pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 2}}]
`
	for _, c := range []struct {
		text    string
		options schedulerconfig.Options
		weight  int32
		name    string
		err     string
	}{
		{one, schedulerconfig.Options{}, 1, "web", ""},
		{strings.Replace(one, "schedulerName: web", "percentageOfNodesToScore: 5", 1), schedulerconfig.Options{}, 1, "default-scheduler", ""},
		{one, schedulerconfig.Options{SchedulerName: "web"}, 1, "web", ""},
		{one, schedulerconfig.Options{SchedulerName: "other"}, 0, "", `profiles: there is none for the scheduler name "other", only web`},
		{one, schedulerconfig.Options{SchedulerName: "other", OrOnly: true}, 1, "web", ""},
		{two, schedulerconfig.Options{SchedulerName: "batch"}, 2, "batch", ""},
		{two, schedulerconfig.Options{}, 0, "", "profiles: there are several: name one of web, batch"},
		{two, schedulerconfig.Options{SchedulerName: "other", OrOnly: true}, 0, "", `profiles: there is none for the scheduler name "other", only web, batch`},
		{strings.Replace(two, "batch", "web", 1), schedulerconfig.Options{SchedulerName: "web"}, 0, "", `profiles[1].schedulerName: Duplicate value: "web"`},
		{strings.Replace(two, "schedulerName: batch", "percentageOfNodesToScore: 5", 1), schedulerconfig.Options{}, 0, "",
			"profiles[1].schedulerName: Required value"},
	} {
		got, err := schedulerconfig.Read([]byte(c.text), c.options)
		switch {
		case c.err != "" && (err == nil || err.Error() != c.err):
			t.Errorf("%+v: error %v, want %s", c.options, err, c.err)
		case c.err == "" && err != nil:
			t.Errorf("%+v: %v", c.options, err)
		case c.err == "" && (got.Profile.GetHardPodAffinityWeight() != c.weight || got.Name != c.name):
			t.Errorf("%+v: got %v", c.options, got)
		}
	}
}

func TestFilesThatAreNotAConfiguration(t *testing.T) {
	for text, want := range map[string]string{
		"apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n": "is kubescheduler.config.k8s.io/v1beta3 " +
			"KubeSchedulerConfiguration, want kubescheduler.config.k8s.io/v1 KubeSchedulerConfiguration",
		"apiVersion: v1\nkind: Pod\n":           "is v1 Pod, want",
		"hardPodAffinityWait: 5\n":              `unknown field "hardPodAffinityWait"`,
		"- a\n":                                 "unexpected token [",
		header + "    plugin: {}\n":             `unknown field "profiles[0].plugin"`,
		header + "    schedulerName: other\n":   `key "schedulerName" already set`,
		header + "    plugins: {multiPoint: 5}": "cannot unmarshal number into Go struct field",
	} {
		got, err := schedulerconfig.Read([]byte(text), schedulerconfig.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v, want %s", text, got, err, want)
		}
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scheduler.yaml")
	if _, err := schedulerconfig.ReadFile(path, schedulerconfig.Options{}); !os.IsNotExist(err) {
		t.Errorf("a missing file: %v", err)
	}
	text := indented("plugins: {filter: {enabled: [{name: Mine}, {name: Yours}]}}")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := schedulerconfig.ReadFile(path, schedulerconfig.Options{})
	want := path + `: profiles[0].plugins.filter.enabled[0].name: Invalid value: "Mine": is not a plugin of kube-scheduler v1.37
` + path + `: profiles[0].plugins.filter.enabled[1].name: Invalid value: "Yours": is not a plugin of kube-scheduler v1.37`
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestExtenders(t *testing.T) {
	const configured = header + `
    pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [example.com/own]}}]
extenders:
  - urlPrefix: http://127.0.0.1:7435
    managedResources: [{name: example.com/gpu, ignoredByScheduler: true}, {name: example.com/disk}]
`
	_, err := schedulerconfig.Read([]byte(configured), schedulerconfig.Options{})
	if want := "extenders[0]: Forbidden: Stowage calls no extenders"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	got, err := schedulerconfig.Read([]byte(configured), schedulerconfig.Options{Extender: &schedulerconfig.Extender{}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(profile(t, "ignoredResources: [example.com/gpu]"), got.Profile, protocmp.Transform()); d != "" {
		t.Error(d)
	}
}

// The configurations of deploy/extender disable the two plugins that the extender stands in for, and the second one multiplies
// all other weights by ten: Stowage decides by kube-scheduler's default profile with both.
func TestTheConfigurationsOfTheExtender(t *testing.T) {
	for file, factor := range map[string]int32{"scheduler.yaml": 1, "scheduler-exact.yaml": 10} {
		e := &schedulerconfig.Extender{Plugins: []string{"InterPodAffinity", "PodTopologySpread"}, WeightFactor: factor}
		got, err := schedulerconfig.ReadFile(filepath.Join("..", "..", "deploy", "extender", file),
			schedulerconfig.Options{Extender: e})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if d := cmp.Diff(&stowagev1.Profile{}, got.Profile, protocmp.Transform()); d != "" {
			t.Errorf("%s:\n%s", file, d)
		}
	}
	_, err := schedulerconfig.Read([]byte(indented("plugins: {score: {enabled: [{name: ImageLocality, weight: 15}]}}")),
		schedulerconfig.Options{Extender: &schedulerconfig.Extender{WeightFactor: 10}})
	want := "profiles[0].plugins.score.enabled[0].weight: Invalid value: 15: ImageLocality: must be a multiple of 10 for exact scores"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}
