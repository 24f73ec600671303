package deploy

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stowage-scheduler/stowage/clients/live"
	"github.com/stowage-scheduler/stowage/deploy/deploytest"
)

var (
	namesOfTests = regexp.MustCompile(`\b(Test|Fuzz)[A-Z]\w*`)
	tests        = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z]\w*)\(`)
)

// TestSecurityNamesItsTests expects each row of each table in SECURITY.md to name a test, and each test that the file names to exist. Whether
// the tests meet what the row promises is for a reader to judge.
func TestSecurityNamesItsTests(t *testing.T) {
	text, err := os.ReadFile("../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	exist := map[string]bool{}
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, found := range tests.FindAllSubmatch(source, -1) {
			exist[string(found[1])] = true
		}
		return err
	})
	if err != nil || len(exist) < 1000 {
		t.Fatalf("%d tests, %v", len(exist), err)
	}
	for _, name := range namesOfTests.FindAllString(string(text), -1) {
		if !exist[name] {
			t.Errorf("there is no test %s", name)
		}
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		switch last := strings.TrimSpace(cells[len(cells)-1]); {
		case last == "tests" || strings.HasPrefix(last, "---"):
		case !namesOfTests.MatchString(last):
			t.Errorf("the last column names no test: %s", line)
		default:
			rows++
		}
	}
	if rows < 20 {
		t.Errorf("only %d rows name tests", rows)
	}
}

// TestRights expects each command to have the rights that SECURITY.md lists, and no others: what it may do besides reading, what it may read,
// and the roles of Kubernetes itself that it gets.
func TestRights(t *testing.T) {
	read := []string{"namespaces", "nodes", "poddisruptionbudgets", "pods", "replicasets", "replicationcontrollers", "services", "statefulsets"}
	for _, r := range live.StorageResources() {
		read = append(read, r.Resource)
	}
	devices := []string{}
	for _, r := range live.DeviceResources() {
		devices = append(devices, r.Resource)
	}
	for _, test := range []struct {
		dirs                 []string
		account              string
		writes, reads, bound []string
	}{
		{[]string{"kubernetes"}, "stowage-server", nil, nil, []string{"system:auth-delegator"}},
		{[]string{"kubernetes", "kubernetes/insecure"}, "stowage-server", nil, nil, nil},
		{[]string{"extender"}, "stowage-extender", []string{"create pods/binding"}, slices.Concat([]string{"leases kube-scheduler-stowage", "deviceclasses"}, read), nil},
		{[]string{"extender"}, "stowage-extender-kube-scheduler", []string{"create leases", "update leases kube-scheduler-stowage"},
			[]string{"leases kube-scheduler-stowage"},
			[]string{"extension-apiserver-authentication-reader", "system:kube-scheduler", "system:volume-scheduler"}},
		{[]string{"batch"}, "stowage-batch", []string{
			"create events", "create leases", "create pods/binding", "delete pods", "patch events", "patch pods/status", "update leases stowage-batch",
		}, slices.Concat([]string{"leases stowage-batch", "podgroups", "deviceclasses"}, read), nil},
		{[]string{"batch", "batch/devices"}, "stowage-batch", []string{
			"create events", "create leases", "create pods/binding", "delete pods", "patch events", "patch pods/status", "update leases stowage-batch",
			"update resourceclaims", "update resourceclaims/binding", "update resourceclaims/status",
		}, slices.Concat([]string{"leases stowage-batch", "podgroups"}, read, devices), nil},
	} {
		rules, bound := map[string][]rbacv1.PolicyRule{}, []string{}
		objects := deploytest.Kustomize(t, ".", test.dirs...)
		for _, o := range objects {
			switch o := o.(type) {
			case *rbacv1.ClusterRole:
				rules[o.Kind+" "+o.Name] = o.Rules
			case *rbacv1.Role:
				rules[o.Kind+" "+o.Name] = o.Rules
			}
		}
		var writes, reads []string
		bind := func(role rbacv1.RoleRef, subjects []rbacv1.Subject) {
			if !slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool { return s.Kind == rbacv1.ServiceAccountKind && s.Name == test.account }) {
				return
			}
			own, ok := rules[role.Kind+" "+role.Name]
			if !ok {
				bound = append(bound, role.Name)
			}
			for _, r := range own {
				for _, resource := range r.Resources {
					what := strings.Join(append([]string{resource}, r.ResourceNames...), " ")
					for _, verb := range r.Verbs {
						if slices.Contains([]string{"get", "list", "watch"}, verb) {
							reads = append(reads, what)
						} else {
							writes = append(writes, verb+" "+what)
						}
					}
				}
			}
		}
		for _, o := range objects {
			switch o := o.(type) {
			case *rbacv1.ClusterRoleBinding:
				bind(o.RoleRef, o.Subjects)
			case *rbacv1.RoleBinding:
				bind(o.RoleRef, o.Subjects)
			}
		}
		for what, lists := range map[string][2][]string{"write": {writes, test.writes}, "read": {reads, test.reads}, "be bound to": {bound, test.bound}} {
			got, want := lists[0], slices.Clone(lists[1])
			slices.Sort(got)
			slices.Sort(want)
			if got = slices.Compact(got); !slices.Equal(got, want) {
				t.Errorf("%s may %s %v, want %v", test.account, what, got, want)
			}
		}
	}
	text, err := os.ReadFile("reader/clusterrole.yaml")
	if err != nil {
		t.Fatal(err)
	}
	objects, err := deploytest.Read(text)
	if err != nil || len(objects) != 1 {
		t.Fatalf("%d roles of a reader, %v", len(objects), err)
	}
	for _, r := range objects[0].(*rbacv1.ClusterRole).Rules {
		if !slices.Equal(r.Verbs, []string{"list"}) || slices.Contains(r.Resources, "secrets") {
			t.Errorf("a reader may %v %v", r.Verbs, r.Resources)
		}
	}
}

// TestRightsForVolumes expects each role of a client with informers to list and watch every kind that the rules of volumes read, and to do
// nothing else with it.
func TestRightsForVolumes(t *testing.T) {
	for file, role := range map[string]string{"extender/rbac.yaml": "stowage-extender", "batch/clusterrole.yaml": "stowage-batch"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := deploytest.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		verbs := map[schema.GroupResource][]string{}
		for _, o := range objects {
			if o, ok := o.(*rbacv1.ClusterRole); ok && o.Name == role {
				for _, r := range o.Rules {
					for _, resource := range r.Resources {
						of := schema.GroupResource{Group: r.APIGroups[0], Resource: resource}
						verbs[of] = append(verbs[of], r.Verbs...)
					}
				}
			}
		}
		for _, r := range live.StorageResources() {
			if got := verbs[r.GroupResource()]; !slices.Equal(got, []string{"list", "watch"}) {
				t.Errorf("%s may %v %s", role, got, r.GroupResource())
			}
		}
	}
}

// TestExtenderListensOnLoopback expects the extender of the manifests, whose verbs bind pods, to be reached in its pod alone.
func TestExtenderListensOnLoopback(t *testing.T) {
	c, _ := extenderConfig(t)
	if host, _ := splitPort(t, c.ListenAddress); host != "127.0.0.1" {
		t.Errorf("the extender listens on %s", c.ListenAddress)
	}
}
