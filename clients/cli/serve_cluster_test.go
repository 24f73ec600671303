package cli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/clients/cli"
	"github.com/stowage-scheduler/stowage/clients/serve"
)

// TestServedCluster reads the cluster behind the server: a question about its objects has the answer that the command has about the cluster.
func TestServedCluster(t *testing.T) {
	objects := []string{
		liveNode, livePod("shop", "web", "app: web", "schedulerName: default-scheduler"), livePod("shop", "db", "app: db", "nodeName: a"),
		"{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop, name: web, uid: d}, spec: {replicas: 1, selector: {matchLabels: {app: web}}, " +
			"template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}",
	}
	api := startAPI(t, objects...)
	api.forbidden["/apis/batch/v1/jobs"] = true
	kubeconfig := api.kubeconfig()
	post := func(url, body string) (int, string, http.Header) {
		response, err := http.Post(url, "application/json", strings.NewReader(body))
		must(t, err)
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		must(t, err)
		return response.StatusCode, string(text), response.Header
	}
	url := servedBy(t, "--kubeconfig", kubeconfig)
	code, list, header := post(url+"/v1/cluster", "")
	if note := header.Get(serve.Notes); code != 200 || !strings.Contains(note, `cannot list resource \"jobs\"`) {
		t.Fatalf("%d %q\n%s", code, note, list)
	}
	var kinds struct {
		Items []struct{ APIVersion, Kind string }
	}
	must(t, json.Unmarshal([]byte(list), &kinds))
	if want := "[{v1 Pod} {v1 Pod} {v1 Node} {apps/v1 Deployment}]"; fmt.Sprint(kinds.Items) != want {
		t.Errorf("%v, want %s", kinds.Items, want)
	}
	code, got, _ := post(url+"/v1/filter?output=name&pod=shop/web", list)
	_, want, stderr := stowage(t, "filter", "--kubeconfig", kubeconfig, "--pod", "shop/web", "-o", "name")
	if code != 200 || got != want || want != "node/a\n" {
		t.Errorf("%d %s\nwant\n%s%s", code, got, want, stderr)
	}
	// What is wrong with the cluster is named, at the start or with the request.
	api.forbidden["/api/v1/pods"] = true
	if code, text, _ := post(url+"/v1/cluster", ""); code != 502 || !strings.Contains(text, "pods is forbidden") || !strings.Contains(text, "ClusterRole stowage-reader") {
		t.Errorf("%d %s", code, text)
	}
	if code, text, _ := post(servedBy(t, "--kubeconfig", kubeconfig, "--context", "gone")+"/v1/cluster", ""); code != 502 || !strings.Contains(text, "127.0.0.1:1") {
		t.Errorf("%d %s", code, text)
	}
	if code, text, _ := post(servedBy(t)+"/v1/cluster", ""); code != 404 {
		t.Errorf("without the flag: %d %s", code, text)
	}
	for _, args := range [][]string{{"--kubeconfig", "absent"}, {"--kubeconfig", kubeconfig, "--context", "absent"}, {"--kubeconfig", kubeconfig, "--listen", "0.0.0.0:0", "--token-file", kubeconfig}} {
		if code, _, stderr := stowage(t, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...); code != 2 || stderr == "" {
			t.Errorf("%v: exit %d %s", args, code, stderr)
		}
	}
}

// servedBy runs stowage serve with flags until the test ends, and returns its address.
func servedBy(t *testing.T, flags ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	in, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code := cli.Run(ctx, append([]string{"serve", "--listen", "127.0.0.1:0"}, flags...), strings.NewReader(""), io.Discard, out)
		_ = out.CloseWithError(fmt.Errorf("exit status %d", code))
		ended <- code
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	line, err := bufio.NewReader(in).ReadString('\n')
	must(t, err)
	go func() { _, _ = io.Copy(io.Discard, in) }()
	return regexp.MustCompile(`http://[0-9.:]+`).FindString(line)
}
