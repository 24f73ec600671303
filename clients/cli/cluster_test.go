package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/clients/cli"
	"github.com/stowage-scheduler/stowage/clients/manifest"
)

// apiServer serves lists of objects, in protobuf and in chunks, and nothing else.
type apiServer struct {
	*httptest.Server
	t *testing.T

	mutex     sync.Mutex
	objects   map[string][]runtime.Object // by path
	forbidden map[string]bool             // paths
	absent    map[string]bool             // paths
	lists     []string                    // group/resource of each list, in order
	chunks    int
	expired   int // pages that are to be refused because their list is too old
}

// plurals are the paths of kinds.
var plurals = map[string]string{
	"Pod": "pods", "Node": "nodes", "Deployment": "deployments", "ReplicaSet": "replicasets", "StatefulSet": "statefulsets",
	"PriorityClass": "priorityclasses", "PodDisruptionBudget": "poddisruptionbudgets",
}

func startAPI(t *testing.T, objects ...string) *apiServer {
	t.Helper()
	s := &apiServer{t: t, objects: map[string][]runtime.Object{}, forbidden: map[string]bool{}, absent: map[string]bool{}}
	for _, text := range objects {
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		o, gvk, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		prefix := "/apis/" + gvk.GroupVersion().String()
		if gvk.Group == "" {
			prefix = "/api/v1"
		}
		path := prefix + "/" + plurals[gvk.Kind]
		o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		s.objects[path] = append(s.objects[path], o)
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP implements http.Handler.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	query := r.URL.Query()
	if r.Method != http.MethodGet || query.Get("watch") != "" {
		s.t.Errorf("%s %s", r.Method, r.URL)
	}
	if !strings.HasPrefix(r.Header.Get("Accept"), runtime.ContentTypeProtobuf) {
		s.t.Errorf("%s asks for %s", r.URL, r.Header.Get("Accept"))
	}
	if !strings.HasPrefix(r.UserAgent(), "stowage ") && !strings.HasSuffix(r.UserAgent(), "/stowage") {
		s.t.Errorf("user agent %q", r.UserAgent())
	}
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	group, version, resource := "", path[1], path[len(path)-1]
	if path[0] == "apis" {
		group, version = path[1], path[2]
	}
	if query.Get("continue") == "" {
		s.lists = append(s.lists, group+"/"+resource)
	}
	s.chunks++
	status := func(code int, reason metav1.StatusReason, message string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(&metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason,
			Message: message,
		})
	}
	switch {
	case s.forbidden[r.URL.Path]:
		status(http.StatusForbidden, metav1.StatusReasonForbidden, resource+` is forbidden: User "me" cannot list resource "`+resource+`"`)
		return
	case s.expired > 0 && query.Get("continue") != "":
		s.expired--
		status(http.StatusGone, metav1.StatusReasonExpired, "the provided continue parameter is too old")
		return
	case s.absent[r.URL.Path]:
		status(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
		return
	}
	if resource == "pods" && query.Get("fieldSelector") != "status.phase!=Succeeded,status.phase!=Failed" {
		s.t.Errorf("pods are selected by %q", query.Get("fieldSelector"))
	}
	all := s.objects[r.URL.Path]
	from, _ := strconv.Atoi(query.Get("continue"))
	limit, _ := strconv.Atoi(query.Get("limit"))
	if limit == 0 {
		s.t.Errorf("%s has no limit", r.URL)
	}
	to := min(from+limit, len(all))
	gvk := schema.GroupVersionKind{Group: group, Version: version, Kind: kindsOf[resource] + "List"}
	list, err := scheme.Scheme.New(gvk)
	if err != nil {
		s.t.Error(err)
		return
	}
	list.GetObjectKind().SetGroupVersionKind(gvk)
	if err := meta.SetList(list, all[from:to]); err != nil {
		s.t.Error(err)
	}
	if to < len(all) {
		about, _ := meta.ListAccessor(list)
		about.SetContinue(strconv.Itoa(to))
	}
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(list, w); err != nil {
		s.t.Error(err)
	}
}

// kindsOf are the kinds of resources.
var kindsOf = func() map[string]string {
	out := map[string]string{}
	for _, kind := range manifest.Kinds() {
		plural := strings.ToLower(kind) + "s"
		if stem, ok := strings.CutSuffix(kind, "y"); ok {
			plural = strings.ToLower(stem) + "ies"
		} else if strings.HasSuffix(kind, "ss") {
			plural = strings.ToLower(kind) + "es"
		}
		out[plural] = kind
	}
	return out
}()

// kubeconfig writes a kubeconfig with a current context, which has a namespace, and one of a server that is not there.
func (s *apiServer) kubeconfig() string {
	path := filepath.Join(s.t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: here, users: [{name: me, user: {token: secret}}],
clusters: [{name: here, cluster: {server: %q}}, {name: gone, cluster: {server: "http://127.0.0.1:1"}}],
contexts: [{name: here, context: {cluster: here, user: me, namespace: shop}}, {name: gone, context: {cluster: gone, user: me}}]}`, s.URL)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

func stowage(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = cli.Run(t.Context(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

const liveNode = `{apiVersion: v1, kind: Node, metadata: {name: a, uid: a}, status: {allocatable: {cpu: "2", pods: "2000"}}}`

func livePod(namespace, name, labels, spec string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {namespace: %s, name: %[2]s, uid: %[2]s, labels: {%s}, managedFields: [{manager: m}]},
spec: {%s, containers: [{name: c, image: i, resources: {requests: {cpu: 1m}}}]}}`, namespace, name, labels, spec)
}

func TestAListThatExpiresIsBegunAnew(t *testing.T) {
	objects := []string{liveNode, livePod("shop", "web", "app: web", "schedulerName: default-scheduler")}
	for i := range 1200 {
		objects = append(objects, livePod("shop", fmt.Sprintf("p%d", i), "app: p", "nodeName: a"))
	}
	s := startAPI(t, objects...)
	s.expired = 2
	if code, stdout, stderr := stowage(t, "filter", "--kubeconfig", s.kubeconfig(), "-o", "json"); code != 0 || stderr != "" {
		t.Fatalf("exit %d\n%s\n%s", code, stdout, stderr)
	}
	s.expired = 100
	code, _, stderr := stowage(t, "filter", "--kubeconfig", s.kubeconfig())
	if code != 2 || !strings.Contains(stderr, "continue parameter is too old") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
	if s.expired != 96 {
		t.Errorf("%d lists were begun", 100-s.expired)
	}
}

func TestAClusterIsReadInChunks(t *testing.T) {
	objects := []string{liveNode, livePod("shop", "web", "app: web", "schedulerName: default-scheduler")}
	for i := range 1200 {
		objects = append(objects, livePod("shop", fmt.Sprintf("p%d", i), "app: p", "nodeName: a"))
	}
	s := startAPI(t, objects...)
	code, stdout, stderr := stowage(t, "filter", "--kubeconfig", s.kubeconfig(), "-o", "json")
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d\n%s\n%s", code, stdout, stderr)
	}
	if s.chunks != len(s.lists)+2 {
		t.Errorf("%d requests for %d lists", s.chunks, len(s.lists))
	}
	if slices.Index(s.lists, "/nodes") < slices.Index(s.lists, "/pods") {
		t.Error("nodes are listed before pods: a pod may be on a node that is younger")
	}
	var kinds []string
	for _, l := range s.lists {
		kinds = append(kinds, kindsOf[l[strings.Index(l, "/")+1:]])
	}
	slices.Sort(kinds)
	if d := cmp.Diff(manifest.Kinds(), kinds); d != "" {
		t.Errorf("kinds that are listed (-those of manifests +got)\n%s", d)
	}
	var role rbacv1.ClusterRole
	text, err := os.ReadFile("../../deploy/reader/clusterrole.yaml")
	if err == nil {
		err = yaml.UnmarshalStrict(text, &role)
	}
	if err != nil {
		t.Fatal(err)
	}
	var allowed []string
	for _, rule := range role.Rules {
		if !slices.Equal(rule.Verbs, []string{"list"}) {
			t.Errorf("the ClusterRole allows %v", rule.Verbs)
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				allowed = append(allowed, group+"/"+resource)
			}
		}
	}
	slices.Sort(allowed)
	slices.Sort(s.lists)
	if d := cmp.Diff(allowed, s.lists); d != "" {
		t.Errorf("lists (-allowed by the ClusterRole +asked for)\n%s", d)
	}
}

func TestManifestsAreAppliedToTheCluster(t *testing.T) {
	const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web%s}, spec: {replicas: %d, selector: {matchLabels: {app: web}},
template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]}}}}`
	s := startAPI(t, liveNode, fmt.Sprintf(deployment, ", namespace: shop, uid: d", 1),
		livePod("shop", "web-abc-1", "app: web, pod-template-hash: abc", "nodeName: a"))
	path := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, deployment, "", 3), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--kubeconfig", s.kubeconfig()}, {"--kubeconfig", s.kubeconfig(), "-n", "shop"}} {
		code, stdout, stderr := stowage(t, append([]string{"place", "-f", path}, args...)...)
		if code != 0 || !strings.Contains(stdout, "2 of 2 pods placed") || !strings.Contains(stdout, "shop/web   Deployment   2/2") {
			t.Errorf("%v: exit %d\n%s\n%s", args, code, stdout, stderr)
		}
		if want := "stowage: " + path + ": document 1: Deployment web changes cluster: Deployment shop/web\n"; stderr != want {
			t.Errorf("%v: %q, want %q", args, stderr, want)
		}
	}
	// Elsewhere it is another Deployment.
	code, stdout, _ := stowage(t, "place", "-f", path, "--kubeconfig", s.kubeconfig(), "-n", "test")
	if code != 0 || !strings.Contains(stdout, "test/web   Deployment   3/3") {
		t.Errorf("exit %d\n%s", code, stdout)
	}
	t.Setenv("KUBECONFIG", s.kubeconfig())
	for _, args := range [][]string{{"place"}, {"place", "--cluster"}, {"place", "--context", "here"}} {
		if code, stdout, stderr := stowage(t, args...); code != 0 || !strings.Contains(stdout, "no pods to place") || stderr != "" {
			t.Errorf("%v: exit %d\n%s\n%s", args, code, stdout, stderr)
		}
	}
}

func TestOnlyThePodsThatAreAskedAbout(t *testing.T) {
	const pending = "schedulerName: default-scheduler"
	s := startAPI(t, liveNode, livePod("shop", "web", "app: web", pending), livePod("shop", "db", "app: db", pending),
		livePod("test", "web2", "app: web", pending))
	for _, c := range []struct {
		args []string
		want []string
		left string
	}{
		{nil, []string{"shop/web", "shop/db", "test/web2"}, ""},
		{[]string{"-n", "shop"}, []string{"shop/web", "shop/db"}, "1 pending pod"},
		{[]string{"-l", "app=web"}, []string{"shop/web", "test/web2"}, "1 pending pod"},
		{[]string{"-n", "test", "-l", "app notin (web)"}, nil, "3 pending pods"},
	} {
		code, stdout, stderr := stowage(t, append([]string{"place", "--kubeconfig", s.kubeconfig()}, c.args...)...)
		if code != 0 {
			t.Errorf("%v: exit %d\n%s", c.args, code, stderr)
		}
		for _, pod := range []string{"shop/web", "shop/db", "test/web2"} {
			if got := strings.Contains(stdout, "\n"+pod+" "); got != slices.Contains(c.want, pod) {
				t.Errorf("%v: %s: %v\n%s", c.args, pod, got, stdout)
			}
		}
		want := ""
		if c.left != "" {
			want = "stowage: left out by --namespace and --selector, though kube-scheduler places them too: " + c.left + "\n"
		}
		if stderr != want {
			t.Errorf("%v: %q, want %q", c.args, stderr, want)
		}
	}
	if code, _, stderr := stowage(t, "place", "--kubeconfig", s.kubeconfig(), "-l", "app in"); code != 2 || !strings.Contains(stderr, "--selector: ") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

func TestWhatMayNotBeRead(t *testing.T) {
	s := startAPI(t, liveNode, livePod("shop", "web", "app: web", "schedulerName: default-scheduler"))
	s.forbidden["/apis/policy/v1/poddisruptionbudgets"] = true
	s.absent["/apis/scheduling.k8s.io/v1beta1/podgroups"] = true
	code, stdout, stderr := stowage(t, "place", "--kubeconfig", s.kubeconfig())
	if code != 3 || !strings.Contains(stdout, "1 of 1 pod placed") ||
		!strings.Contains(stderr, `stowage: not read: poddisruptionbudgets is forbidden: User "me" cannot list resource "poddisruptionbudgets"`) ||
		!strings.Contains(stderr, "1 kind of objects may not be read: exit status 3") || strings.Contains(stderr, "podgroups") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
	if code, _, _ = stowage(t, "place", "--kubeconfig", s.kubeconfig(), "--allow-unread"); code != 0 {
		t.Errorf("exit %d", code)
	}
	s.forbidden["/apis/scheduling.k8s.io/v1/priorityclasses"], s.forbidden["/api/v1/limitranges"] = true, true
	_, _, stderr = stowage(t, "place", "--kubeconfig", s.kubeconfig())
	if strings.Count(stderr, "not read: ") != 1 || !strings.Contains(stderr, ", nor may ") || !strings.Contains(stderr, "3 kinds of objects") {
		t.Errorf("%s", stderr)
	}
	s.forbidden["/api/v1/pods"] = true
	code, _, stderr = stowage(t, "place", "--kubeconfig", s.kubeconfig())
	if code != 2 || !strings.Contains(stderr, `cannot list resource "pods": ClusterRole stowage-reader has the required access`) {
		t.Errorf("exit %d\n%s", code, stderr)
	}
}

func TestErrorsOfTheCluster(t *testing.T) {
	s := startAPI(t)
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for want, args := range map[string][]string{
		"there is no kubeconfig to read a cluster with, and no manifest": {"place"},
		"connect: connection refused":                                    {"place", "--kubeconfig", s.kubeconfig(), "--context", "gone"},
		`context "other" does not exist`:                                 {"place", "--kubeconfig", s.kubeconfig(), "--context", "other"},
		"no such file or directory":                                      {"place", "--kubeconfig", "/no/such/file"},
		"the cluster has no nodes and no pods":                           {"place", "--kubeconfig", s.kubeconfig()},
	} {
		if code, _, stderr := stowage(t, args...); code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit %d, %q, want %q", args, code, stderr, want)
		}
	}
}
