package compare_test

import (
	"os"
	"testing"

	"github.com/stowage-scheduler/stowage/bench/parity/compare"
	"github.com/stowage-scheduler/stowage/bench/parity/conformance"
)

func TestRecordedCorpus(t *testing.T) {
	f, err := os.Open("../testdata/corpus/kube-1.37.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cases := 0
	for c, err := range conformance.Read(f) {
		if err != nil {
			t.Fatal(err)
		}
		cases++
		for _, d := range conformance.Run(t.Context(), c, compare.InProcess{}) {
			t.Errorf("%s: %v", c.Name, d)
		}
	}
	if cases < 1000 {
		t.Errorf("the corpus has %d cases only", cases)
	}
}
