package generate

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// large are amounts around which arithmetic in 32 bits, in 64-bit floating point, of hundredths and in 64 bits ends.
var large = []int64{
	1 << 31, 1 << 32, 1 << 53, 1e16, 1 << 54, // 16Pi
	math.MaxInt64 / 1000, 1 << 55, 1 << 56, math.MaxInt64 / 100, 1 << 57, 1 << 62, math.MaxInt64 / 2, math.MaxInt64,
}

// largeAmount draws an amount near one of them: mostly one on which the case has settled, so that pods' amounts add up to
// nodes', or do not.
func (d *draw) largeAmount() int64 {
	if d.settled == 0 {
		d.settled = pick(d, large...)
	}
	amount := d.settled
	if d.chance(0.1) {
		amount = pick(d, large...)
	}
	switch x := d.Float64(); {
	case x < 0.2:
		return amount
	case x < 0.4:
		return amount - int64(d.between(0, 3))
	case x < 0.6 && amount < math.MaxInt64-3:
		return amount + int64(d.between(0, 3))
	}
	return amount / int64(d.between(2, 9))
}

func (d *draw) largeQuantity(name corev1.ResourceName) resource.Quantity {
	switch name {
	case corev1.ResourceCPU:
		return *resource.NewMilliQuantity(min(d.largeAmount(), math.MaxInt64/1000*1000), resource.DecimalSI)
	case corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
	default:
		// The API server wants an integer and looks at the thousandths, in 64 bits: it refuses more than 2^63/1000, unless the
		// amount is written such that the overflow is recognized.
		if name != hugepages && d.chance(0.3) {
			return quantities(d, "1e16", "2e16", "10P", "30P", "1E", "3e18", "9E")
		}
		amount := min(d.largeAmount(), math.MaxInt64/1000)
		if name == hugepages {
			amount = max(1, amount>>21) << 21
		}
		return *resource.NewQuantity(amount, resource.DecimalSI)
	}
	return *resource.NewQuantity(d.largeAmount(), pick(d, resource.DecimalSI, resource.BinarySI))
}

// enlarge makes a share of the list's amounts large.
func (d *draw) enlarge(l corev1.ResourceList, share float64) {
	for _, name := range names(l) {
		if name != corev1.ResourcePods && d.chance(share) {
			l[name] = d.largeQuantity(name)
		}
	}
}

// fractions are what the API server rounds up to thousandths, and kube-scheduler to whole units once it has added up.
var fractions = []string{"100m", "0.5", "1500m", "333333333m", "1234567.25", "0.0001", "1u", "1n", "67108864.001", "1.5Gi", "700.7k", "1e-3"}

// fractionate makes amounts of the list such that they are no whole numbers.
func (d *draw) fractionate(l corev1.ResourceList) {
	for _, name := range names(l) {
		if !slices.Contains([]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}, name) {
			continue // of the others there are whole ones only
		}
		if d.chance(0.4) {
			l[name] = quantities(d, fractions...)
			if name == corev1.ResourceCPU {
				l[name] = quantities(d, "1u", "100n", "1.5m", "0.0015", "0.1", "333.3m", "1.0001")
			}
		}
	}
}

// extendedResources are the names of one vendor's resources. A case has a few of them, or hundreds.
func (d *draw) extendedResources() []corev1.ResourceName {
	if d.extended == nil {
		d.extended = make([]corev1.ResourceName, pick(d, 5, 60, 260, 700))
		for i := range d.extended {
			d.extended[i] = corev1.ResourceName(fmt.Sprintf("many.example.com/r%03d", i))
		}
	}
	return d.extended
}

// extend gives the list amounts of extended resources: most of them, or a few.
func (d *draw) extend(l corev1.ResourceList, share float64, amounts ...string) {
	for _, name := range some(d, share, d.extendedResources()...) {
		l[name] = quantities(d, amounts...)
	}
}

// names returns the names of the list in order, as what is drawn for each must not depend on a map's.
func names(l corev1.ResourceList) []corev1.ResourceName {
	out := make([]corev1.ResourceName, 0, len(l))
	for name := range l {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
