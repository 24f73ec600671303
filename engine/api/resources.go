package api

// Names of the resources that Kubernetes treats specially.
const (
	ResourceCPU              = "cpu"
	ResourceMemory           = "memory"
	ResourceEphemeralStorage = "ephemeral-storage"
	ResourcePods             = "pods"
)

// Quantity is an amount of one resource.
type Quantity = QuantityOf[int64]

// QuantityOf is an amount of one resource, as a number of type N.
type QuantityOf[N any] struct {
	Resource string
	Amount   N
}

// Resources is an amount per resource. An absent resource differs from an amount of 0. Invariants: sorted by resource,
// resources unique, amounts not negative.
type Resources []Quantity

// Get returns the amount of a resource and whether it is present.
func (r Resources) Get(resource string) (int64, bool) {
	for i := range r {
		if r[i].Resource == resource {
			return r[i].Amount, true
		}
	}
	return 0, false
}
