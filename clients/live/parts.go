package live

import (
	"cmp"

	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// part is a list of a cluster besides nodes and templates.
type part interface {
	// path is the name of the list in the contract.
	path() string
	// list adds all objects to a cluster, and returns how to leave one of them out.
	list(to *stowagev1.Cluster) leaveOut
	// difference adds the changes since the base to a delta, and reports whether there are any.
	difference(d *stowagev1.ClusterDelta) bool
	// changes is the number of objects that differ from the base, or may.
	changes() int
	// settle makes the current objects the base.
	settle()
}

// leaveOut leaves out the i-th object of a list that Stowage rejects. It reports whether that is a change.
type leaveOut func(m *model, i int, reason string) bool

// partOf is a part, and where the contract has it.
type partOf[K comparable, M interface {
	comparable
	proto.Message
}] struct {
	table[K, M]
	name    string
	compare func(a, b K) int
	object  func(K) object
	of      func(*stowagev1.Cluster) *[]M
	in      func(d *stowagev1.ClusterDelta, set, gone []M)
}

func (p *partOf[K, M]) path() string { return p.name }

func (p *partOf[K, M]) list(to *stowagev1.Cluster) leaveOut {
	var keys []K
	keys, *p.of(to) = p.all(p.compare)
	return func(m *model, i int, reason string) bool {
		if i >= len(keys) {
			return false
		}
		var none M
		o := p.object(keys[i])
		m.refused.report(m.log, o.kind, o.name, reason)
		return p.set(keys[i], none)
	}
}

func (p *partOf[K, M]) difference(d *stowagev1.ClusterDelta) bool {
	set, gone := p.differences(p.compare)
	p.in(d, set, gone)
	return len(set)+len(gone) > 0
}

func (p *partOf[K, M]) changes() int { return len(p.was) }

// apply sets an object that an event shows, nil if it is gone. An object that does not convert, or whose text is not UTF-8, is left out,
// and reported. It reports whether that is a change.
func (p *partOf[K, M]) apply(m *model, key K, converted M, err error) bool {
	var none M
	o := p.object(key)
	m.refused.clear(o.kind, o.name)
	if err == nil && converted != none {
		_, err = encoding(converted)
	}
	if err != nil {
		m.refused.report(m.log, o.kind, o.name, err.Error())
		converted = none
	}
	return p.set(key, converted)
}

// removeOthers removes the objects that are not there.
func (p *partOf[K, M]) removeOthers(there map[K]bool) {
	var none M
	for key := range p.now {
		if !there[key] {
			p.set(key, none)
		}
	}
}

// objectKey is the namespace and the name of an object.
type objectKey = types.NamespacedName

// keyOf returns the key of an object.
func keyOf(o metav1.Object) objectKey {
	return objectKey{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func compareKeys(a, b objectKey) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// keyed returns the object of a kind by its key.
func keyed(kind string) func(objectKey) object {
	return func(k objectKey) object { return object{kind, k.String()} }
}

// byName returns the object of a kind without namespaces.
func byName(kind string) func(string) object {
	return func(name string) object { return object{kind, name} }
}

// namesOf returns the names of objects, and keysOf their namespaces and names.
func namesOf[M interface{ GetName() string }](list []M) (out []string) {
	for _, o := range list {
		out = append(out, o.GetName())
	}
	return out
}

func keysOf[M interface {
	GetNamespace() string
	GetName() string
}](list []M) (out []*stowagev1.NamespacedName) {
	for _, o := range list {
		out = append(out, &stowagev1.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()})
	}
	return out
}

// objects are the parts of a model.
type objects struct {
	spaces    partOf[string, *stowagev1.Namespace]
	selectors partOf[selectorKey, *stowagev1.WorkloadSelector]
	budgets   partOf[objectKey, *stowagev1.PodDisruptionBudget]
	groups    partOf[string, *stowagev1.PodGroup]

	classes    partOf[string, *stowagev1.StorageClass]
	drivers    partOf[string, *stowagev1.CSIDriver]
	capacities partOf[objectKey, *stowagev1.CSIStorageCapacity]
	volumes    partOf[string, *stowagev1.PersistentVolume]
	claims     partOf[objectKey, *stowagev1.PersistentVolumeClaim]

	deviceObjects
}

// parts returns all parts.
func (o *objects) parts() []part {
	return []part{
		&o.spaces, &o.selectors, &o.budgets, &o.groups, &o.classes, &o.drivers, &o.capacities, &o.volumes, &o.claims,
		&o.deviceTypes, &o.expressions, &o.deviceClasses, &o.slices, &o.resourceClaims,
	}
}

func newObjects() objects {
	return objects{
		deviceObjects: newDeviceObjects(),
		spaces: partOf[string, *stowagev1.Namespace]{newTable[string, *stowagev1.Namespace](),
			"namespaces", cmp.Compare[string], byName("Namespace"),
			func(c *stowagev1.Cluster) *[]*stowagev1.Namespace { return &c.Namespaces },
			func(d *stowagev1.ClusterDelta, set, gone []*stowagev1.Namespace) {
				d.Namespaces, d.RemovedNamespaces = set, namesOf(gone)
			}},
		selectors: partOf[selectorKey, *stowagev1.WorkloadSelector]{newTable[selectorKey, *stowagev1.WorkloadSelector](),
			"workload_selectors", selectorKey.compare, selectorKey.object,
			func(c *stowagev1.Cluster) *[]*stowagev1.WorkloadSelector { return &c.WorkloadSelectors },
			func(d *stowagev1.ClusterDelta, set, gone []*stowagev1.WorkloadSelector) {
				d.WorkloadSelectors = set
				for _, s := range gone {
					d.RemovedWorkloadSelectors = append(d.RemovedWorkloadSelectors,
						&stowagev1.WorkloadSelectorName{Kind: s.Kind, Namespace: s.Namespace, Name: s.Name})
				}
			}},
		budgets: partOf[objectKey, *stowagev1.PodDisruptionBudget]{newTable[objectKey, *stowagev1.PodDisruptionBudget](),
			"pod_disruption_budgets", compareKeys, keyed("PodDisruptionBudget"),
			func(c *stowagev1.Cluster) *[]*stowagev1.PodDisruptionBudget { return &c.PodDisruptionBudgets },
			func(d *stowagev1.ClusterDelta, set, gone []*stowagev1.PodDisruptionBudget) {
				d.PodDisruptionBudgets, d.RemovedPodDisruptionBudgets = set, keysOf(gone)
			}},
		groups: partOf[string, *stowagev1.PodGroup]{newTable[string, *stowagev1.PodGroup](),
			"pod_groups", cmp.Compare[string], byName("PodGroup"),
			func(c *stowagev1.Cluster) *[]*stowagev1.PodGroup { return &c.PodGroups },
			func(d *stowagev1.ClusterDelta, set, gone []*stowagev1.PodGroup) {
				d.PodGroups, d.RemovedPodGroups = set, namesOf(gone)
			}},
		classes: partOf[string, *stowagev1.StorageClass]{newTable[string, *stowagev1.StorageClass](),
			"storage_classes", cmp.Compare[string], byName("StorageClass"),
			func(c *stowagev1.Cluster) *[]*stowagev1.StorageClass { return &c.StorageClasses },
			func(d *stowagev1.ClusterDelta, set, gone []*stowagev1.StorageClass) {
				d.StorageClasses, d.RemovedStorageClasses = set, namesOf(gone)
			}},
		drivers: partOf[string, *stowagev1.CSIDriver]{newTable[string, *stowagev1.CSIDriver](),
			"csi_drivers", cmp.Compare[string], byName("CSIDriver"),
			func(c *stowagev1.Cluster) *[]*stowagev1.CSIDriver { return &c.CsiDrivers },
			func(d *stowagev1.ClusterDelta, set, gone []*stowagev1.CSIDriver) {
				d.CsiDrivers, d.RemovedCsiDrivers = set, namesOf(gone)
			}},
		capacities: partOf[objectKey, *stowagev1.CSIStorageCapacity]{newTable[objectKey, *stowagev1.CSIStorageCapacity](),
			"csi_storage_capacities", compareKeys, keyed("CSIStorageCapacity"),
			func(c *stowagev1.Cluster) *[]*stowagev1.CSIStorageCapacity { return &c.CsiStorageCapacities },
			func(d *stowagev1.ClusterDelta, set, gone []*stowagev1.CSIStorageCapacity) {
				d.CsiStorageCapacities, d.RemovedCsiStorageCapacities = set, keysOf(gone)
			}},
		volumes: partOf[string, *stowagev1.PersistentVolume]{newTable[string, *stowagev1.PersistentVolume](),
			"persistent_volumes", cmp.Compare[string], byName("PersistentVolume"),
			func(c *stowagev1.Cluster) *[]*stowagev1.PersistentVolume { return &c.PersistentVolumes },
			func(d *stowagev1.ClusterDelta, set, gone []*stowagev1.PersistentVolume) {
				d.PersistentVolumes, d.RemovedPersistentVolumes = set, namesOf(gone)
			}},
		claims: partOf[objectKey, *stowagev1.PersistentVolumeClaim]{newTable[objectKey, *stowagev1.PersistentVolumeClaim](),
			"persistent_volume_claims", compareKeys, keyed("PersistentVolumeClaim"),
			func(c *stowagev1.Cluster) *[]*stowagev1.PersistentVolumeClaim { return &c.PersistentVolumeClaims },
			func(d *stowagev1.ClusterDelta, set, gone []*stowagev1.PersistentVolumeClaim) {
				d.PersistentVolumeClaims, d.RemovedPersistentVolumeClaims = set, keysOf(gone)
			}},
	}
}
