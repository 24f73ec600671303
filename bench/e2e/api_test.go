package e2e

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
)

// TestSlowAPIServer delays the API server's answers and events during a burst. For a while the delay exceeds every timeout,
// so that the schedulers cannot know whether a bind was carried out.
func TestSlowAPIServer(t *testing.T) {
	s := start(t)
	proxy, err := s.ThroughProxy()
	must(t, err)
	t.Cleanup(proxy.Close)
	for _, k := range schedulers[1:] {
		k.start(t, s)
	}
	for _, k := range schedulers[1:] {
		t.Run(k.name, func(t *testing.T) {
			proxy.Delay(100 * time.Millisecond)
			defer proxy.Delay(0)
			inBurst(t, s, k.pods, func() {
				proxy.Delay(8 * time.Second)
				time.Sleep(2 * time.Second) // requests meanwhile are answered too late
				proxy.Delay(100 * time.Millisecond)
			})
		})
	}
}

// TestForbiddenBindings takes the right to bind away in the middle of a burst, and restores it once a pod's event reports
// the refusal.
func TestForbiddenBindings(t *testing.T) {
	s := start(t)
	for _, k := range schedulers[1:] {
		k.start(t, s)
	}
	for _, k := range schedulers[1:] {
		t.Run(k.name, func(t *testing.T) {
			inBurst(t, s, k.pods, func() {
				back := forbidBindings(t, s, "stowage-extender", "stowage-batch")
				eventually(t, patience, func() error {
					pods, err := s.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
					if err != nil {
						return err
					}
					ours := map[types.UID]bool{}
					for i := range pods.Items {
						ours[pods.Items[i].UID] = true
					}
					events, err := s.Client.EventsV1().Events("default").List(t.Context(), metav1.ListOptions{})
					if err != nil {
						return err
					}
					for _, e := range events.Items {
						if ours[e.Regarding.UID] && e.Reason == "FailedScheduling" && strings.Contains(e.Note, "forbidden") {
							return nil
						}
					}
					if b, err := lookAtBurst(t.Context(), s); err == nil && b.bound == burstFits {
						t.Log("everything was bound before")
						return nil
					}
					return errors.New("no event says that binding is forbidden")
				})
				back()
			})
		})
	}
}

// forbidBindings takes the right to bind from roles, and returns how to give it back.
func forbidBindings(t *testing.T, s *stack.Stack, names ...string) (back func()) {
	t.Helper()
	roles := s.Client.RbacV1().ClusterRoles()
	set := func(name string, rules []rbacv1.PolicyRule) (before []rbacv1.PolicyRule) {
		role, err := roles.Get(t.Context(), name, metav1.GetOptions{})
		must(t, err)
		before = role.Rules
		if role.Rules = rules; rules == nil {
			for _, r := range before {
				r.Resources = slices.DeleteFunc(slices.Clone(r.Resources), func(resource string) bool {
					return resource == "pods/binding" || resource == "bindings"
				})
				if len(r.Resources) > 0 || len(r.NonResourceURLs) > 0 {
					role.Rules = append(role.Rules, r)
				}
			}
		}
		_, err = roles.Update(t.Context(), role, metav1.UpdateOptions{})
		must(t, err)
		return before
	}
	was := map[string][]rbacv1.PolicyRule{}
	for _, name := range names {
		was[name] = set(name, nil)
	}
	return func() {
		for name, rules := range was {
			set(name, rules)
		}
	}
}
