package words

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
)

// maximumDigits is the number of digits of an amount that people read at a glance.
const maximumDigits = 4

// Quantity writes an amount of a resource as people write it: as kubectl does, such as 1500m or 16Gi, and what would have more
// than 4 digits in a larger unit with one decimal, such as 14.3Gi. It rounds down, so that the text is never more than the amount.
func Quantity(name string, amount int64) string {
	return Brief(convert.Quantity(corev1.ResourceName(name), amount))
}

// Brief writes a quantity as Quantity does.
func Brief(q resource.Quantity) string {
	exact := q.String()
	number := strings.TrimRightFunc(exact, func(r rune) bool { return r < '0' || r > '9' })
	if q.Format != resource.BinarySI || len(strings.TrimPrefix(number, "-")) <= maximumDigits {
		return exact
	}
	amount, sign := q.Value(), ""
	if amount < 0 {
		amount, sign = -amount, "-"
	}
	unit, power := "", uint(0)
	for _, larger := range []string{"Ki", "Mi", "Gi", "Ti", "Pi", "Ei"} {
		if amount>>(power+10) == 0 {
			break
		}
		unit, power = larger, power+10
	}
	whole, rest := amount>>power, amount&(1<<power-1)
	text := strconv.FormatInt(whole, 10)
	if power > 0 {
		if tenth := (rest >> (power - 10)) * 10 >> 10; tenth > 0 {
			text += "." + strconv.FormatInt(tenth, 10)
		}
	}
	return sign + text + unit
}

// Proof is what is known of a cost. A lower bound of 0 is none.
func Proof(optimal bool, lowerBound uint64) string {
	switch {
	case optimal:
		return "optimal"
	case lowerBound > 0:
		return "lower bound " + strconv.FormatUint(lowerBound, 10)
	}
	return "lower costs may be possible"
}
