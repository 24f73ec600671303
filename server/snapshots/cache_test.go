package snapshots_test

import (
	"fmt"
	"sync"
	"testing"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/snapshots"
)

// numbered returns small clusters with distinct contents.
func numbered(t *testing.T, count int) []*decode.Snapshot {
	out := make([]*decode.Snapshot, count)
	for i := range out {
		out[i] = compiled(t, &stowagev1.Cluster{Nodes: []*stowagev1.Node{{Name: fmt.Sprintf("node-%03d", i)}}})
	}
	return out
}

func has(c *snapshots.Cache, cluster *decode.Snapshot) bool {
	return c.Get("", cluster.Content.Address()) != nil
}

func TestEvictsLeastRecentlyUsed(t *testing.T) {
	clusters := numbered(t, 5)
	each := clusters[0].Memory()
	c := snapshots.New(3*each + each/2)
	for _, x := range clusters[:3] {
		if !c.Put(x, snapshots.Owner{}) {
			t.Fatal("does not fit")
		}
	}
	has(c, clusters[0])
	c.Put(clusters[1], snapshots.Owner{}) // present: counts as a use
	c.Put(clusters[3], snapshots.Owner{})
	for i, want := range []bool{true, true, false, true, false} {
		if got := has(c, clusters[i]); got != want {
			t.Errorf("cluster %d is there: %t", i, got)
		}
	}
	if n, bytes := c.Len(); n != 3 || bytes != clusters[0].Memory()+clusters[1].Memory()+clusters[3].Memory() {
		t.Errorf("there are %d clusters of %d bytes", n, bytes)
	}
	if snapshots.New(each-1).Put(clusters[0], snapshots.Owner{}) {
		t.Error("a cluster beyond the limit was kept")
	}
	if !snapshots.New(each).Put(clusters[0], snapshots.Owner{}) {
		t.Error("a cluster within the limit was not kept")
	}
}

// TestCachedResponsesCount: cached responses evict other clusters, and the last cluster stays within the budget. Requests
// go to one cluster or to all in turn.
func TestCachedResponsesCount(t *testing.T) {
	for name, asked := range map[string]func(int) int{
		"one": func(int) int { return 7 },
		"all": func(i int) int { return i % 20 },
	} {
		t.Run(name, func(t *testing.T) {
			clusters := numbered(t, 20)
			limit := 20*clusters[0].Memory() + 1<<10
			c := snapshots.New(limit)
			for _, x := range clusters {
				c.Put(x, snapshots.Owner{})
			}
			if n, _ := c.Len(); n != 20 {
				t.Fatalf("there are %d clusters", n)
			}
			for i := range 2000 {
				x := clusters[asked(i)]
				if got := c.Get("", x.Content.Address()); got != x {
					if name == "one" {
						t.Fatalf("after %d questions the cluster is gone", i)
					}
					continue
				}
				ask(t, x, i)
				c.Recount("", x)
				if _, bytes := c.Len(); bytes > limit {
					t.Fatalf("after %d questions there are %d bytes, the limit is %d", i, bytes, limit)
				}
			}
			if n, bytes := c.Len(); n == 20 || bytes < limit/2 {
				t.Errorf("in the end there are %d clusters of %d bytes, the limit is %d", n, bytes, limit)
			} else if c.Evictions() != int64(20-n) {
				t.Errorf("of 20 clusters %d are left, but %d were evicted", n, c.Evictions())
			}
		})
	}
}

func TestConcurrentPuts(t *testing.T) {
	clusters := numbered(t, 40)
	limit := 10 * clusters[0].Memory()
	c := snapshots.New(limit)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 200 {
				x := clusters[(i*(2*worker+1))%len(clusters)]
				if !c.Put(x, snapshots.Owner{}) {
					t.Error("does not fit")
				}
				if got := c.Get("", x.Content.Address()); got != nil && got != x {
					t.Error("another cluster is there")
				}
				if _, bytes := c.Len(); bytes > limit {
					t.Errorf("there are %d bytes, the limit is %d", bytes, limit)
				}
			}
		})
	}
	all.Wait()
}

// TestOwnersKeepTheirShares: an owner who puts many clusters evicts snapshots of owners with more than their share and the owner's own,
// not snapshots of owners within their shares, however long these are idle.
func TestOwnersKeepTheirShares(t *testing.T) {
	clusters := numbered(t, 60)
	each := clusters[0].Memory()
	c := snapshots.New(16*each + each/2)
	of := func(client string) snapshots.Owner { return snapshots.Owner{Client: client} }
	for _, x := range clusters[:8] {
		c.Put(x, of("large"))
	}
	for i, x := range clusters[8:14] {
		c.Put(x, of(string(rune('a'+i/2))))
	}
	for _, x := range clusters[14:] {
		c.Put(x, of("greedy"))
	}
	for i, x := range clusters[8:14] {
		if !has(c, x) {
			t.Errorf("cluster %d of an owner within the share is gone", 8+i)
		}
	}
	large := 0
	for _, x := range clusters[:8] {
		if has(c, x) {
			large++
		}
	}
	if share := 16 / 5; large < share || large == 8 {
		t.Errorf("%d of 8 clusters are left of an owner above the share of %d", large, share)
	}
	if !has(c, clusters[59]) || has(c, clusters[14]) {
		t.Error("of the greedy owner's clusters the last must be there, the first not")
	}
	if n, bytes := c.Len(); n != 16 || bytes > 16*each+each/2 {
		t.Errorf("there are %d clusters of %d bytes", n, bytes)
	}
}

// TestTenantsSeeTheirOwn: the cluster of one tenant is not there for another, and the same content of two is two clusters.
func TestTenantsSeeTheirOwn(t *testing.T) {
	x := numbered(t, 1)[0]
	address := x.Content.Address()
	c := snapshots.New(10 * x.Memory())
	c.Put(x, snapshots.Owner{Tenant: "a"})
	if c.Get("a", address) != x || c.Get("b", address) != nil || c.Get("", address) != nil {
		t.Error("a's cluster must be there for a alone")
	}
	c.Put(x, snapshots.Owner{Tenant: "b"})
	if n, bytes := c.Len(); n != 2 || bytes != 2*x.Memory() || c.Get("b", address) != x {
		t.Errorf("there are %d clusters of %d bytes", n, bytes)
	}
}

// TestTenantsHaveLimits: a tenant's clusters stay within the tenant's limit, also as they remember responses, and evict no others.
func TestTenantsHaveLimits(t *testing.T) {
	clusters := numbered(t, 12)
	each := clusters[0].Memory()
	c := snapshots.New(100 * each)
	bounded := snapshots.Owner{Tenant: "a", Limit: 3*each + each/2}
	for _, x := range clusters[:4] {
		c.Put(x, snapshots.Owner{Tenant: "b"})
	}
	memory := func() (bytes int64) {
		for _, x := range clusters[4:] {
			if c.Get("a", x.Content.Address()) != nil {
				bytes += x.Memory()
			}
		}
		return bytes
	}
	for i, x := range clusters[4:] {
		if !c.Put(x, bounded) || c.Get("a", x.Content.Address()) == nil {
			t.Fatalf("cluster %d is not there", i)
		}
		if bytes := memory(); bytes > bounded.Limit || i >= 3 && bytes < 3*each {
			t.Errorf("after %d clusters there are %d bytes, the limit is %d", i+1, bytes, bounded.Limit)
		}
	}
	last := clusters[len(clusters)-1]
	for i := range 2000 {
		ask(t, last, i)
		c.Recount("a", last)
		if bytes := memory(); bytes > bounded.Limit {
			t.Fatalf("after %d questions there are %d bytes, the limit is %d", i+1, bytes, bounded.Limit)
		}
	}
	if c.Get("a", last.Content.Address()) == nil || memory() > last.Memory() {
		t.Error("the responses of the last cluster must have evicted the others")
	}
	for _, x := range clusters[:4] {
		if c.Get("b", x.Content.Address()) == nil {
			t.Error("a cluster of another tenant is gone")
		}
	}
	small := snapshots.Owner{Tenant: "a", Limit: each - 1}
	if c.Put(clusters[4], small) || c.LimitOf(small) != each-1 || c.LimitOf(snapshots.Owner{Limit: 1000 * each}) != c.Limit() {
		t.Error("a cluster beyond the tenant's limit was kept")
	}
}
