package e2e

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/bench/e2e/controlplane"
	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
)

const (
	connectedPods = 100
	// maxConnections is how many new connections a pod kube-scheduler may need. With answers of unknown length it is 1 at
	// 1,000 nodes and 2 at 5,000.
	maxConnections = 0.05
)

// TestConnections has kube-scheduler ask the extender about pods on many nodes, and counts the connections that it opens: for
// pods that come one after the other, and, without a limit, for a burst. In a burst pods are bound beside other calls, and
// kube-scheduler keeps no more than two idle connections to an address, so their number depends on how long the API server
// takes to bind.
func TestConnections(t *testing.T) {
	for _, nodes := range []int{1000, 5000} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			s := start(t)
			must(t, controlplane.FakeNodes(t.Context(), s.Client, nodes, 5))
			startServer(t, s)
			must(t, s.StartExtender(t.Context(), "--kube-api-qps=5000", "--kube-api-burst=5000"))
			one := connectionsOf(t, s, "one", 1)
			t.Logf("%d nodes, pods one by one: %.3f connections a pod", nodes, one)
			if one >= maxConnections {
				t.Errorf("%.3f new connections a pod", one)
			}
			t.Logf("%d nodes, pods in a burst: %.3f connections a pod", nodes, connectionsOf(t, s, "burst", connectedPods))
		})
	}
}

// connectionsOf returns the number of new connections per pod, with the given number of pods created at a time.
func connectionsOf(t *testing.T, s *stack.Stack, name string, atATime int) float64 {
	t.Helper()
	before := connections(t, s)
	for i := range connectedPods {
		p := beside(fmt.Sprintf("%s-%d", name, i), stack.ExtenderPods, "100m")
		p.Labels["app"] = name
		_, err := s.Client.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{})
		must(t, err)
		if (i+1)%atATime != 0 {
			continue
		}
		eventually(t, patience, func() error {
			on, err := nodesOf(t.Context(), s, "app="+name)
			if err == nil && len(on) != i+1 {
				err = fmt.Errorf("of %d pods, %d are bound", i+1, len(on))
			}
			return err
		})
	}
	after := connections(t, s)
	if after == 0 {
		t.Fatal("the extender counts no connections")
	}
	return (after - before) / connectedPods
}

// connections is how many the extender has accepted so far.
func connections(t *testing.T, s *stack.Stack) (n float64) {
	t.Helper()
	r, err := http.Get(s.ExtenderMetrics)
	must(t, err)
	defer r.Body.Close()
	for lines := bufio.NewScanner(r.Body); lines.Scan(); {
		if line := lines.Text(); strings.HasPrefix(line, "stowage_extender_connections_total") {
			n, err = strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
			must(t, err)
		}
	}
	return n
}
