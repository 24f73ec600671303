//go:build linux && !race

package cli_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// hostileBodies are bodies that take far more than their size, or have no end.
var hostileBodies = []struct {
	name, path string
	body       func(*testing.T) io.Reader
	code       int
	want       string
}{
	{"no end", "", func(*testing.T) io.Reader { return &repeated{text: []byte("- a\n")} }, 413, "the body has more than 33554432 bytes"},
	{"NUL", "", text("apiVersion: v1\x00"), 400, "not a text file: contains a NUL byte"},
	{"depth in JSON", "", text(`{"apiVersion":"v1","kind":"Node","a":`, "[", 4<<20), 400, "document 1"},
	{"depth in YAML", "", text("a: ", "[", 4<<20), 400, "document 1"},
	{"depth in blocks", "", text("a: ", "- ", 2<<20), 400, "document 1"},
	{"aliases", "", text("a: &a "+strings.Repeat("y", 1<<20)+"\nb: [", "*a, ", 1<<19, "]\n"), 400, "aliases expand to more than 8388608 bytes"},
	{"aliases of aliases", "", text("a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: &d [", "*c,", 1<<19, "]\n"), 400, "aliases expand to more than 8388608 bytes"},
	{"a large object", "", text(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"`, "x", 9<<20, `"}}`), 400, "an object of more than 8388608 bytes"},
	{"a long number", "", text("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: ", "9", 1<<20, "}"), 400, "replicas"},
	{"a number with an exponent", "", text("apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {allocatable: {cpu: '1e2147483647'}}"), 400, "cpu"},
	{"a number that is none", "", text(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"replicas":NaN}}`), 400, "document 1"},
	{"documents", "", text("", "---\n", 1<<20), 400, "more than 300000 documents"},
	{"objects", "", text(`{"items":[`, "{},", 8<<20), 400, "more than 300000 objects"},
	{"2 GiB by gzip", "", func(t *testing.T) io.Reader { return strings.NewReader(string(bomb(t, `{"items":[`, "        "))) }, 400, "an object of more than 8388608 bytes"},
	{"replicas", "", text(nodeA + deployment("web", 1_000_000)), 422, "the workloads become more pods than"},
	{"ordinals", "", func(*testing.T) io.Reader {
		var all strings.Builder
		for i := range 5000 {
			all.WriteString(strings.Replace(deployment(fmt.Sprintf("web-%d", i), 10_000), "Deployment", "StatefulSet", 1))
		}
		return strings.NewReader(nodeA + all.String())
	}, 422, "the workloads become more pods than"},
	{"a StatefulSet of large pods", "", text(strings.Replace(strings.TrimSuffix(deployment("web", 10_000), "}]}}}\n---\n"), "Deployment", "StatefulSet", 1)+", env: [", "{name: A},", 1<<17, "]}]}}}\n---\n"+nodeA), 200, "spec.replicas: Too many"},
	{"DaemonSets of many nodes", "", func(*testing.T) io.Reader {
		var all strings.Builder
		for i := range 2000 {
			all.WriteString(strings.Replace(nodeA, "name: a", fmt.Sprintf("name: a%d", i), 1))
			all.WriteString(strings.Replace(strings.Replace(deployment(fmt.Sprintf("web-%d", i), 0), "Deployment", "DaemonSet", 1), "replicas: 0, ", "", 1))
		}
		return strings.NewReader(all.String())
	}, 422, "the workloads become more pods than"},
	{"new nodes", "what-if?" + strings.Repeat("add-node=like=a,count=100000&", 100), text(nodeA + deployment("web", 1)), 422, "the workloads become more pods than"},
	{"a scaled workload", "what-if?scale=deploy/web=2000000000", text(nodeA + deployment("web", 1)), 422, "the workloads become more pods than"},
}

const nodeA = "apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}\n---\n"

func deployment(name string, replicas int) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %s}
spec: {replicas: %d, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}
---
`, name, replicas)
}

// text is a body that consists of texts. A number after a text is how often the text is repeated.
func text(parts ...any) func(*testing.T) io.Reader {
	return func(*testing.T) io.Reader {
		var out strings.Builder
		for i, part := range parts {
			n := 1
			if i+1 < len(parts) {
				if times, ok := parts[i+1].(int); ok {
					n = times
				}
			}
			if part, ok := part.(string); ok {
				out.WriteString(strings.Repeat(part, n))
			}
		}
		return strings.NewReader(out.String())
	}
}

// served starts stowage serve as a process. stop ends it, and returns the peak of its memory.
func served(t *testing.T, flags ...string) (url string, stop func() (peak int64)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	command := exec.CommandContext(ctx, "stowage", append([]string{"serve", "--listen=127.0.0.1:0"}, flags...)...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	stderr, err := command.StderrPipe()
	must(t, err)
	must(t, command.Start())
	line, err := bufio.NewReader(stderr).ReadString('\n')
	must(t, err)
	return regexp.MustCompile(`http://\S+`).FindString(line), func() int64 {
		cancel()
		_ = command.Wait()
		return command.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	}
}

// sendTo sends a body of no known length.
func sendTo(url, path string, body io.Reader) (code int, answer string, err error) {
	if path == "" {
		path = "place"
	}
	response, err := http.Post(url+"/v1/"+path, "", io.MultiReader(body))
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// TestServedInputIsBounded sends hostile bodies to a process whose memory is measured, one after another and several at a time.
func TestServedInputIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("sends gigabytes")
	}
	url, stop := served(t, "--max-body=32", "--max-in-flight=64")
	for _, h := range hostileBodies {
		start := time.Now()
		code, answer, err := sendTo(url, h.path, h.body(t))
		if code != h.code || !strings.Contains(answer, h.want) {
			t.Errorf("%s: %d %.500s %v", h.name, code, answer, err)
		}
		t.Logf("%-30s %d in %v", h.name, code, time.Since(start).Round(time.Millisecond))
	}
	var all sync.WaitGroup
	for range 4 {
		for _, h := range hostileBodies {
			all.Go(func() {
				code, answer, err := sendTo(url, h.path, h.body(t))
				if !slices.Contains([]int{h.code, http.StatusTooManyRequests}, code) && err == nil {
					t.Errorf("%s: %d %.500s", h.name, code, answer)
				}
			})
		}
	}
	all.Wait()
	if code, answer, err := sendTo(url, "", strings.NewReader(nodeA+deployment("web", 1))); code != http.StatusOK {
		t.Error("after that:", code, answer, err)
	}
	peak := stop()
	t.Logf("%d MiB", peak>>20)
	if peak > maximumPeak {
		t.Errorf("%d MiB", peak>>20)
	}
}
