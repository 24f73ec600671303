package enginetest

import (
	"iter"
	"reflect"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// RejectedByEveryKind returns a cluster of one node with two pods, and a pod for which each kind of rule rejects the node,
// even without one of the two, with kube-scheduler's plugins and OneLicense. The node has all topology keys, so that counting pods is
// what rejects it.
func RejectedByEveryKind() (*api.Cluster, *Pod) {
	const hostname = "kubernetes.io/hostname"
	running := func(name string) *Pod { return MakePod(name).Label("app", "db").Label(LicensesLabel, "1") }
	p := running("pending").Request("cpu", 2000)
	p.spec().NodeSelector = api.Labels{{Key: "disk", Value: "ssd"}}
	p.Spread(hostname, 1, Selects("app", "db"))
	p.spec().Spread[0].MinDomains, p.spec().Spread[0].IgnoreNodeAffinity = 2, true
	p.Affinity(hostname, Selects("app", "cache"))
	p.AntiAffinity(hostname, Selects("app", "db"))
	return Cluster(MakeNode("full").Allocate("cpu", 1000, "pods", 10).Run(running("a"), running("b"))), p
}

// OneLicense is a plugin with a kind of rule of its own.
var OneLicense = Licenses{Name: verdict.PluginCount + 100, Most: 1}.Plugin()

// Kinds iterates over the kinds of rules by the names of the fields of rule.Set, each with the set's rules of that kind.
func Kinds(s *rule.Set) iter.Seq2[string, *rule.Set] {
	return func(yield func(string, *rule.Set) bool) {
		all := reflect.ValueOf(s).Elem()
		for i := range all.NumField() {
			only := &rule.Set{}
			reflect.ValueOf(only).Elem().Field(i).Set(all.Field(i))
			if !yield(all.Type().Field(i).Name, only) {
				return
			}
		}
	}
}
