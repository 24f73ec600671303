package manifest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

type scanned struct {
	Rest  string
	Items []string
}

func scan(in io.Reader, size int, held bool) (out scanned, after string, err error) {
	s := &scanner{in: bufio.NewReaderSize(in, size), held: held, opened: func([]byte) {}, item: func(text []byte) error {
		out.Items = append(out.Items, string(text))
		return nil
	}}
	rest, err := s.object()
	out.Rest = string(rest)
	if err != nil {
		return out, "", err
	}
	if err := s.discard(); err != nil {
		return out, "", err
	}
	left, err := io.ReadAll(s.in)
	return out, string(left), err
}

func TestScanner(t *testing.T) {
	for _, c := range []struct {
		text  string
		want  scanned
		after string
	}{
		{`{}`, scanned{Rest: `{}`}, ""},
		{"{\"items\": [1, {\"a\": [2]}, \"x,]\" ]} {", scanned{`{"items": []}`, []string{"1", `{"a": [2]}`, `"x,]"`}}, " {"},
		{`{"a":{"items":[1]},"items":[]}x`, scanned{Rest: `{"a":{"items":[1]},"items":[]}`}, "x"},
		{`{"items":{"items":[1]}}`, scanned{Rest: `{"items":{"items":[1]}}`}, ""},
		{`{"items":null,"a":[1]}`, scanned{Rest: `{"items":null,"a":[1]}`}, ""},
		{`{"a":"items","b":[1]}`, scanned{Rest: `{"a":"items","b":[1]}`}, ""},
		{`{"items":[1],"items":[2]}`, scanned{`{"items":[],"items":[2]}`, []string{"1"}}, ""},
		{`{"a\"":"\\","items":["\\\"]"]}`, scanned{`{"a\"":"\\","items":[]}`, []string{`"\\\"]"`}}, ""},
	} {
		for _, size := range []int{16, 17, 64, 1 << 16} {
			got, after, err := scan(iotest.HalfReader(strings.NewReader(c.text)), size, size > 64)
			if err != nil {
				t.Errorf("%s: %v", c.text, err)
			}
			if d := cmp.Diff(c.want, got); d != "" || after != c.after {
				t.Errorf("%s: then %q (-want +got)\n%s", c.text, after, d)
			}
		}
	}
}

// TestScannerFindsTheItems puts random objects together, whole and broken ones: the parts are JSON if and only if the whole is,
// and the items equal encoding/json's.
func TestScannerFindsTheItems(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	valid, broken := 0, 0
	for range 5000 {
		text := randomList(rng)
		if rng.IntN(3) == 0 {
			at := rng.IntN(len(text))
			text = text[:at] + string(`{}[]":,x0 \`[rng.IntN(11)]) + text[at+rng.IntN(2):]
		}
		if text[0] != '{' {
			continue
		}
		got, after, err := scan(strings.NewReader(text), 16+rng.IntN(200), false)
		whole := err == nil && json.Valid([]byte(got.Rest)) && strings.TrimSpace(after) == ""
		for _, item := range got.Items {
			whole = whole && json.Valid([]byte(item))
		}
		if want := json.Valid([]byte(text)); whole != want {
			t.Fatalf("JSON: %v, its parts: %v, %v\n%s\n%+v", want, whole, err, text, got)
		}
		if !whole {
			broken++
			continue
		}
		valid++
		var list struct {
			Items json.RawMessage `json:"items"`
		}
		var items []json.RawMessage
		if json.Unmarshal([]byte(text), &list) != nil || strings.Count(text, `"items"`) > 1 || list.Items == nil {
			continue
		}
		_ = json.Unmarshal(list.Items, &items)
		if len(items) != len(got.Items) {
			t.Fatalf("%d items, not %d\n%s", len(got.Items), len(items), text)
		}
		for i := range items {
			if string(items[i]) != got.Items[i] {
				t.Fatalf("item %d is %s, not %s", i, got.Items[i], items[i])
			}
		}
	}
	if valid < 1000 || broken < 500 {
		t.Errorf("%d whole and %d broken ones", valid, broken)
	}
}

func randomList(rng *rand.Rand) string {
	var out strings.Builder
	out.WriteString("{")
	for i := range rng.IntN(4) {
		fmt.Fprintf(&out, `"k%d" : %s,%s`, i, randomValue(rng, 2), blanksOf(rng))
	}
	out.WriteString(`"items":` + blanksOf(rng) + "[" + blanksOf(rng))
	for i := range rng.IntN(5) {
		if i > 0 {
			out.WriteString(blanksOf(rng) + "," + blanksOf(rng))
		}
		out.WriteString(randomValue(rng, 3))
	}
	out.WriteString(blanksOf(rng) + "]" + blanksOf(rng))
	if rng.IntN(2) == 0 {
		out.WriteString(`,"kind":"List"`)
	}
	return out.String() + "}"
}

func blanksOf(rng *rand.Rand) string {
	return strings.Repeat(" ", rng.IntN(20)) + []string{"", "\n", "\t\r\n"}[rng.IntN(3)]
}

func randomValue(rng *rand.Rand, depth int) string {
	if depth == 0 || rng.IntN(3) == 0 {
		return []string{"1", "-2.5e3", "null", "true", `""`, `"a\"b"`, `"\\"`, `"[{,"`, `"ä\u00e4"`}[rng.IntN(9)]
	}
	var parts []string
	for i := range rng.IntN(4) {
		part := randomValue(rng, depth-1)
		if depth%2 == 0 {
			part = fmt.Sprintf(`"f%d":%s%s`, i, blanksOf(rng), part)
		}
		parts = append(parts, part)
	}
	text := strings.Join(parts, ",")
	if depth%2 == 0 {
		return "{" + text + "}"
	}
	return "[" + text + "]"
}

// Many escapes in a long string cost no more than their number.
func TestScannerReadsManyEscapesInTime(t *testing.T) {
	text := []byte(`{"a":"` + strings.Repeat(`\n`, 3<<20) + `"}`)
	got, _, err := scan(bytes.NewReader(text), 1<<20, false)
	if err != nil || len(got.Rest) != len(text) {
		t.Error(len(got.Rest), err)
	}
}

func TestScannerReportsReadErrors(t *testing.T) {
	broken := errors.New("disk")
	_, _, err := scan(io.MultiReader(strings.NewReader(`{"items":[`), iotest.ErrReader(broken)), 64, false)
	if !errors.Is(err, broken) {
		t.Error(err)
	}
}
