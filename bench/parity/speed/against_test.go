package speed

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	rows := func(put, place float64) []Measured {
		return []Measured{
			{Key: "put", Unit: "ms", Value: 1, Processor: put}, {Key: "place-one", Unit: "pods/s", AtLeast: true, Value: place},
		}
	}
	older := [][]Measured{rows(10, 100), rows(10, 100), rows(10, 100), rows(10, 100), rows(10, 100)}
	for what, c := range map[string]struct {
		newer [][]Measured
		lost  []string
	}{
		"equal":                   {[][]Measured{rows(10, 100), rows(10.1, 101), rows(10, 99), rows(9.9, 100), rows(10, 100)}, nil},
		"both":                    {[][]Measured{rows(11, 90), rows(11, 90), rows(11, 90), rows(10, 90), rows(11, 90)}, []string{"put", "place-one"}},
		"faster":                  {[][]Measured{rows(9, 110), rows(9, 110), rows(9, 110), rows(9, 110), rows(9, 110)}, nil},
		"less than a twentieth":   {[][]Measured{rows(10.4, 96), rows(10.4, 96), rows(10.4, 96), rows(10.4, 96), rows(10.4, 96)}, nil},
		"in three rounds of five": {[][]Measured{rows(12, 80), rows(9, 100), rows(12, 80), rows(9, 100), rows(12, 80)}, nil},
	} {
		var lost []string
		for _, row := range Compare(c.newer, older) {
			if row.Lost() {
				lost = append(lost, row.Key)
			}
		}
		if !slices.Equal(lost, c.lost) {
			t.Errorf("%s: lost %v, want %v", what, lost, c.lost)
		}
	}
}

// Rows that one of the builds lacks are left out.
func TestCompareOtherRows(t *testing.T) {
	newer, older := [][]Measured{{{Key: "new", Value: 1}, {Key: "put", Value: 2}}}, [][]Measured{{{Key: "old", Value: 1}, {Key: "put", Value: 1}}}
	got := Compare(newer, older)
	if len(got) != 1 || got[0].Key != "put" || got[0].Ratio != 2 {
		t.Fatalf("%+v", got)
	}
	var text strings.Builder
	if lost, err := PrintComparisons(&text, got); err != nil || lost != 1 || !strings.Contains(text.String(), "LOST") {
		t.Errorf("%d lost, %v: %s", lost, err, text.String())
	}
}

// Only what was measured and has a promise is compared: floors are not.
func TestJSON(t *testing.T) {
	r, err := newReport()
	if err != nil {
		t.Fatal(err)
	}
	r.set("bandwidth", 10)
	r.setTime("put", timing{2_000_000, 3_000_000})
	var text bytes.Buffer
	var got []Measured
	if err := r.JSON(&text); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Key != "put" || got[0].Value != 2 || got[0].Processor != 3 {
		t.Errorf("%+v", got)
	}
}
