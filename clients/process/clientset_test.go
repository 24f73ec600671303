package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// TestCommandsLinkFewAPIs expects no command to use what names every API of Kubernetes: binaries of a release have at most 60 MB. The command
// of users has not even the scheme of client-go's clients.
func TestCommandsLinkFewAPIs(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "../cmd/stowage").Output()
	if err != nil || slices.Contains(strings.Fields(string(out)), "k8s.io/client-go/kubernetes") {
		t.Errorf("stowage imports k8s.io/client-go/kubernetes, %v", err)
	}
	files, err := filepath.Glob("../*/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, all := range []string{`"k8s.io/client-go/informers"`, "kubernetes.NewForConfig"} {
			if !strings.HasSuffix(file, "_test.go") && strings.Contains(string(text), all) {
				t.Errorf("%s has %s", file, all)
			}
		}
	}
}

// TestClientsetHasEveryGroup expects a client for every group and version of the API that commands name, of clients or of informers.
func TestClientsetHasEveryGroup(t *testing.T) {
	api, err := newClientset(&rest.Config{Host: "http://127.0.0.1:1", QPS: 1, Burst: 1})
	if err != nil {
		t.Fatal(err)
	}
	all := reflect.TypeFor[kubernetes.Interface]()
	used := regexp.MustCompile(`\.([A-Z]\w+)\(\)`)
	found := map[string]bool{}
	for _, dir := range []string{"batch", "expander", "extender", "lease", "live", "process"} {
		files, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range used.FindAllStringSubmatch(string(text), -1) {
				if _, ok := all.MethodByName(m[1]); ok {
					found[m[1]] = true
				}
			}
		}
	}
	for name := range found {
		client := reflect.ValueOf(api).MethodByName(name)
		func() {
			defer func() {
				if recover() != nil {
					t.Errorf("the clientset has no %s", name)
				}
			}()
			client.Call(nil)
		}()
	}
	if !found["CoreV1"] || !found["AppsV1"] || !found["SchedulingV1beta1"] || !found["Discovery"] {
		t.Errorf("groups in use: %v", found)
	}
}
