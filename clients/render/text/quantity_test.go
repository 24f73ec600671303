package text_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
)

func TestQuantitiesAsPeopleWriteThem(t *testing.T) {
	for _, c := range []struct {
		name   string
		amount int64
		want   string
	}{
		{"cpu", 1500, "1500m"},
		{"cpu", 4000, "4"},
		{"memory", 16 << 30, "16Gi"},
		{"memory", 1500 << 20, "1500Mi"},
		{"memory", 15_359_062_017, "14.3Gi"},
		{"memory", 1<<40 - 1, "1023.9Gi"},
		{"memory", 10_001, "9.7Ki"},
		{"memory", 1 << 62, "4Ei"},
		{"memory", 1<<63 - 1, "7.9Ei"},
		{"memory", 999, "999"},
		{"memory", 0, "0"},
		{"hugepages-2Mi", 4 << 20, "4Mi"},
		{"example.com/gpu", 12345678, "12345678"},
	} {
		if got := words.Quantity(c.name, c.amount); got != c.want {
			t.Errorf("%d of %s: got %s, want %s", c.amount, c.name, got, c.want)
		}
	}
}

// TestQuantitiesAreNotMoreThanTheAmount holds that what is written is at most the amount, and within a tenth of the unit of it.
func TestQuantitiesAreNotMoreThanTheAmount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Int64Range(0, 1<<62).Draw(t, "amount") >> rapid.IntRange(0, 60).Draw(t, "by")
		text := words.Quantity("memory", amount)
		got, err := resource.ParseQuantity(text)
		if err != nil {
			t.Fatal(err)
		}
		if got.Value() > amount+1 || float64(got.Value()) < float64(amount)*0.9-1 { // ParseQuantity rounds up to whole bytes
			t.Fatalf("%d is written %s, which is %d", amount, text, got.Value())
		}
	})
}
