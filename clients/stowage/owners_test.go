package stowage_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// owning returns a client of replicas, once all of them are connected.
func owning(t *testing.T, replicas []*gray, addresses []string, key string, n int) *stowage.Client {
	t.Helper()
	c, err := stowage.Dial(addresses, stowage.WithOwners(key, n))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	// Until the owners are connected, others take their place.
	for settled := 0; settled < 3; settled++ {
		if time.Sleep(10 * time.Millisecond); calledOf(t, replicas, c) > n {
			settled = 0
		}
	}
	return c
}

// calledOf returns how many replicas get the next calls.
func calledOf(t *testing.T, replicas []*gray, c *stowage.Client) (called int) {
	t.Helper()
	before := make([]int64, len(replicas))
	for i, r := range replicas {
		before[i] = r.calls.Load()
	}
	if failed := load(t, c, 40, 10*time.Second); failed > 0 {
		t.Fatalf("%d calls fail", failed)
	}
	for i, r := range replicas {
		if r.calls.Load() > before[i] {
			called++
		}
	}
	return called
}

// TestOwners expects calls at the owners alone, the same ones for each client with the key, others for other keys, and at the next
// replica while an owner does not answer.
func TestOwners(t *testing.T) {
	replicas, addresses := serveGrays(t, 8)
	owners := func(key string, n int) (of []string) {
		c := owning(t, replicas, addresses, key, n)
		for range 50 {
			answer, err := c.GetServerInfo(t.Context(), &stowagev1.GetServerInfoRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(of, answer.GetRelease()) {
				of = append(of, answer.GetRelease())
			}
		}
		slices.Sort(of)
		return of
	}
	first := owners("a", 2)
	if len(first) != 2 || !slices.Equal(first, owners("a", 2)) {
		t.Errorf("the owners of a are %v", first)
	}
	if three := owners("a", 3); len(three) != 3 || !slices.Contains(three, first[0]) || !slices.Contains(three, first[1]) {
		t.Errorf("the owners of a are %v, with a third one %v", first, three)
	}
	all := map[string]bool{}
	for i := range 8 {
		for _, o := range owners(fmt.Sprint("key-", i), 1) {
			all[o] = true
		}
	}
	if len(all) < 3 {
		t.Errorf("8 keys have the owners %v", all)
	}

	c := owning(t, replicas, addresses, "a", 2)
	owner := replicas[slices.IndexFunc(replicas, func(r *gray) bool { return r.name == first[0] })]
	owner.late.Store(-1)
	if failed := load(t, c, 400, time.Second); failed > 0 {
		t.Errorf("%d calls fail while an owner hangs", failed)
	}
	owner.late.Store(0)
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		before := owner.calls.Load()
		load(t, c, 100, time.Second)
		if owner.calls.Load()-before > 20 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the owner gets no calls although it answers")
		}
	}
}
