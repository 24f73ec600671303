package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/bench/e2e/controlplane"
	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
)

// livePods is the number of pods in the queue, liveSeeds for how many seeds the command is asked.
const livePods, liveSeeds = 60, 20

// TestPlaceReadsTheCluster suspends kube-scheduler until its queue is full, asks stowage place --kubeconfig, with no more rights
// than deploy/reader gives, and lets kube-scheduler go on. Each pod must be on a node that the command said for one of the seeds,
// and none may have a node for which there is no node with any seed. A cluster is made once more if it differs.
func TestPlaceReadsTheCluster(t *testing.T) {
	s := start(t)
	schedulers[0].start(t, s)
	kubeconfig := readerKubeconfig(t, s)
	for run := range repeats(5) {
		for _, text := range confirmed(t, func() []string { return placeLive(t, s, kubeconfig, uint64(run)) }) {
			t.Errorf("cluster %d: %s", run, text)
		}
	}
}

// readerKubeconfig returns the kubeconfig of an account with the ClusterRole of deploy/reader.
func readerKubeconfig(t *testing.T, s *stack.Stack) string {
	t.Helper()
	const name = "stowage-reader"
	_, err := s.Client.CoreV1().ServiceAccounts(stack.Namespace).Create(t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		must(t, err)
	}
	_, err = s.Client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: stack.Namespace, Name: name}},
	}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		must(t, err)
	}
	kubeconfig, err := s.AccountKubeconfig(t.Context(), stack.Namespace, name)
	must(t, err)
	return kubeconfig
}

// placeLive does so once, and returns what is wrong.
func placeLive(t *testing.T, s *stack.Stack, kubeconfig string, seed uint64) (wrong []string) {
	t.Helper()
	deleteAll(t, s)
	rng := rand.New(rand.NewPCG(seed, 17))
	must(t, controlplane.FakeNodes(t.Context(), s.Client, 6, 3))
	s.Plain.Pause()
	var names []string
	for i := range livePods {
		p := sized(fmt.Sprintf("p-%03d", i), fmt.Sprint(1+rng.IntN(12)), stack.PlainPods)
		p.Labels["app"] = fmt.Sprintf("app-%d", rng.IntN(5))
		if rng.IntN(2) == 0 {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Labels["app"]}},
			}}
		}
		create(t, s, p)
		names = append(names, p.Name)
	}
	said := map[string][]string{} // the nodes of a pod, for some seed; "" for none
	for i := range liveSeeds {
		for pod, node := range placedByCommand(t, kubeconfig, i) {
			said[pod] = append(said[pod], node)
		}
	}
	s.Plain.Resume()
	for _, name := range names {
		var node string
		eventually(t, patience, func() error {
			p := get(t, s, name)
			if node = p.Spec.NodeName; node == "" && condition(p) == nil {
				return errors.New(name + " has not been tried")
			}
			return nil
		})
		if !slices.Contains(said[name], node) {
			wrong = append(wrong, fmt.Sprintf("%s is on %q, and stowage says %q", name, node, said[name]))
		}
	}
	return wrong
}

// placedByCommand returns the node of each pod, empty for none.
func placedByCommand(t *testing.T, kubeconfig string, seed int) map[string]string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(t.Context(), filepath.Join(os.Getenv("E2E_COMMANDS"), "stowage"),
		"place", "--kubeconfig", kubeconfig, "-n", "default", "-o", "json", "--seed", fmt.Sprint(seed))
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 1 {
		err = nil // some pods have no node
	}
	if err != nil || strings.Contains(stderr.String(), "not read") {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var answer struct {
		Pods []struct{ Name, Node string }
	}
	must(t, json.Unmarshal(stdout.Bytes(), &answer))
	out := map[string]string{}
	for _, p := range answer.Pods {
		out[p.Name] = p.Node
	}
	if len(out) != livePods {
		t.Fatalf("%d pods", len(out))
	}
	return out
}
