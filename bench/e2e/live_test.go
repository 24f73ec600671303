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

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/stowage-scheduler/stowage/bench/e2e/controlplane"
	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// livePods is the number of pods in the queue.
const livePods = 60

// TestPlaceReadsTheCluster suspends kube-scheduler until its queue is full, asks stowage place --kubeconfig, with no more rights
// than deploy/reader gives, and lets kube-scheduler go on. Which of several best nodes a pod gets is chance in kube-scheduler, and
// what follows depends on it: each node that the command said, and each that kube-scheduler chose, must be a best one after those
// before it. A cluster is made once more if it differs.
func TestPlaceReadsTheCluster(t *testing.T) {
	s := start(t)
	schedulers[0].start(t, s)
	startServer(t, s)
	conn, err := grpc.NewClient(s.Address(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	defer conn.Close()
	placement := stowagev1.NewPlacementServiceClient(conn)
	kubeconfig := readerKubeconfig(t, s)
	for run := range repeats(5) {
		for _, text := range confirmed(t, func() []string { return placeLive(t, s, placement, kubeconfig, uint64(run)) }) {
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
func placeLive(
	t *testing.T, s *stack.Stack, placement stowagev1.PlacementServiceClient, kubeconfig string, seed uint64,
) (wrong []string) {
	t.Helper()
	deleteAll(t, s)
	knows(t, s, "no nodes available")
	rng := rand.New(rand.NewPCG(seed, 17))
	must(t, controlplane.FakeNodes(t.Context(), s.Client, 6, 3))
	knows(t, s, "0/6 nodes are available")
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
	said := placedByCommand(t, kubeconfig)
	s.Plain.Resume()
	chosen := map[string]string{}
	var pods []*corev1.Pod
	for _, name := range names {
		eventually(t, patience, func() error {
			p := get(t, s, name)
			if p.Spec.NodeName == "" && condition(p) == nil {
				return errors.New(name + " has not been tried")
			}
			chosen[name] = p.Spec.NodeName
			return nil
		})
		pods = append(pods, get(t, s, name))
	}
	for who, nodes := range map[string]map[string]string{"stowage": said, "kube-scheduler": chosen} {
		if text := notBest(t, s, placement, pods, nodes); text != "" {
			wrong = append(wrong, who+" "+text)
		}
	}
	return wrong
}

// knows waits until kube-scheduler reports it for a pod that fits on no node: a scheduler that is paused before it has seen all
// nodes goes on with pods that it sees before them.
func knows(t *testing.T, s *stack.Stack, words string) {
	t.Helper()
	now := int64(0)
	eventually(t, patience, func() error {
		create(t, s, sized("huge", "1000000", stack.PlainPods))
		var says string
		eventually(t, patience, func() error {
			c := condition(get(t, s, "huge"))
			if c == nil {
				return errors.New("huge has not been tried")
			}
			says = c.Message
			return nil
		})
		must(t, s.Client.CoreV1().Pods("default").Delete(t.Context(), "huge", metav1.DeleteOptions{GracePeriodSeconds: &now}))
		if !strings.Contains(says, words) {
			return errors.New(says)
		}
		return nil
	})
}

// notBest places pods one after the other on their nodes, and says which is the first on a node that is not one of the best then.
func notBest(
	t *testing.T, s *stack.Stack, placement stowagev1.PlacementServiceClient, pods []*corev1.Pod, nodes map[string]string,
) string {
	t.Helper()
	all, err := s.Client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	must(t, err)
	for i := range pods {
		b := kube.NewBuilder(kube.Options{SchedulerName: kube.AnyScheduler})
		for j := range all.Items {
			must(t, b.AddNode(&all.Items[j]))
		}
		for _, p := range pods[:i+1] {
			on := p.DeepCopy()
			if on.Spec.NodeName = nodes[p.Name]; p == pods[i] {
				on.Spec.NodeName, on.Status = "", corev1.PodStatus{}
			} else if on.Spec.NodeName == "" {
				continue
			}
			must(t, b.AddPod(on))
		}
		snapshot, err := b.Build()
		must(t, err)
		answer, err := placement.Score(t.Context(), &stowagev1.ScoreRequest{
			Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: snapshot.Cluster}},
			Pod:     snapshot.Queue[0].Pods.Pod,
		})
		must(t, err)
		var best []string
		for _, n := range answer.BestNodes.GetIndexes() {
			best = append(best, snapshot.Cluster.Nodes[n].Name)
		}
		node := nodes[pods[i].Name]
		if node == "" && len(best) > 0 || node != "" && !slices.Contains(best, node) {
			return fmt.Sprintf("has %s on %q, and the best nodes are %q", pods[i].Name, node, best)
		}
	}
	return ""
}

// placedByCommand returns the node of each pod, empty for none.
func placedByCommand(t *testing.T, kubeconfig string) map[string]string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(t.Context(), filepath.Join(os.Getenv("E2E_COMMANDS"), "stowage"),
		"place", "--kubeconfig", kubeconfig, "-n", "default", "-o", "json")
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
