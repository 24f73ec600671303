package oracle

import (
	"cmp"
	"errors"
	"slices"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	policyinformers "k8s.io/client-go/informers/policy/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// sortedInformer has an indexer that lists by namespace and name, which is the contract's order of PodDisruptionBudgets.
// kube-scheduler's has the order of a map.
type sortedInformer struct {
	cache.SharedIndexInformer
}

func (i sortedInformer) GetIndexer() cache.Indexer {
	return sortedIndexer{i.SharedIndexInformer.GetIndexer()}
}

type sortedIndexer struct{ cache.Indexer }

func (i sortedIndexer) List() []any { return sortByName(i.Indexer.List()) }

// ByIndex is of the interface.
func (i sortedIndexer) ByIndex(name, value string) ([]any, error) {
	list, err := i.Indexer.ByIndex(name, value)
	return sortByName(list), err
}

func sortByName(list []any) []any {
	slices.SortFunc(list, func(a, b any) int {
		x, y := a.(metav1.Object), b.(metav1.Object)
		return cmp.Or(cmp.Compare(x.GetNamespace(), y.GetNamespace()), cmp.Compare(x.GetName(), y.GetName()))
	})
	return list
}

// addBudgets makes the factory's informer of PodDisruptionBudgets, before any other use of it.
func addBudgets(factory informers.SharedInformerFactory, budgets []*policyv1.PodDisruptionBudget) error {
	informer := factory.InformerFor(&policyv1.PodDisruptionBudget{},
		func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
			indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
			return sortedInformer{policyinformers.NewPodDisruptionBudgetInformer(client, metav1.NamespaceAll, resync, indexers)}
		})
	var errs []error
	for _, b := range budgets {
		errs = append(errs, informer.GetIndexer().Add(inNamespace(b).(runtime.Object)))
	}
	return errors.Join(errs...)
}
