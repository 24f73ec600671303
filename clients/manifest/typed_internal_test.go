package manifest

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/bench/kubectldump"
	"github.com/stowage-scheduler/stowage/clients/kube/object"
)

// TestFastDecodesLikeStrict compares the two decoders: what the fast one accepts, the strict one decodes to the same.
func TestFastDecodesLikeStrict(t *testing.T) {
	d := &decoder{}
	accepted := 0
	for _, raw := range objects(t) {
		if compareDecoders(t, d, raw) {
			accepted++
		}
	}
	if all := len(objects(t)); accepted < all*9/10 {
		t.Errorf("only %d of %d objects are decoded fast", accepted, all)
	}
}

// TestFastDecodesLikeStrictWhatIsBroken does so with objects that were changed at random.
func TestFastDecodesLikeStrictWhatIsBroken(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	d := &decoder{}
	all := objects(t)
	accepted, refused := 0, 0
	for range 4000 {
		if compareDecoders(t, d, mutated(rng, all)) {
			accepted++
		} else {
			refused++
		}
	}
	if accepted < 200 || refused < 200 {
		t.Errorf("%d accepted and %d refused: one of them is hardly tested", accepted, refused)
	}
}

// compareDecoders reports whether the fast decoder accepts an object.
func compareDecoders(t *testing.T, d *decoder, raw []byte) bool {
	t.Helper()
	var head metav1.TypeMeta
	k := kinds["Pod"]
	if json.Unmarshal(raw, &head) == nil {
		if of, ok := kinds[head.Kind]; ok {
			k = of
		}
	}
	fast, strict := k.empty(), k.empty()
	if !d.fast(raw, fast) {
		return false
	}
	if err := decode(raw, strict); err != nil {
		t.Fatalf("only the fast decoder accepts it, %v:\n%s", err, raw)
	}
	if !object.IsApplied(strict) {
		strict.SetManagedFields(nil)
	}
	if diff := cmp.Diff(strict, fast); diff != "" {
		t.Fatalf("(-strict +fast)\n%s\n%s", diff, raw)
	}
	return true
}

// objects returns objects of generated dumps, of the examples and of tests.
func objects(t *testing.T) (out [][]byte) {
	t.Helper()
	var dump bytes.Buffer
	if _, err := kubectldump.Write(&dump, kubectldump.Options{Nodes: 3, PodsPerNode: 12, ManagedFields: true}); err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(dump.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	for _, raw := range list.Items {
		out = append(out, raw)
	}
	files, err := filepath.Glob("../examples/*/*.yaml")
	seeds, seedErr := filepath.Glob("testdata/seed/*")
	if err != nil || seedErr != nil || len(files) == 0 || len(seeds) == 0 {
		t.Fatal("no examples", err, seedErr)
	}
	for _, name := range append(files, seeds...) {
		if filepath.Base(name) == "case.yaml" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for doc := range bytes.SplitSeq(text, []byte("\n---")) {
			raw, err := yaml.YAMLToJSON(doc)
			if err == nil && utilyaml.IsJSONBuffer(raw) && bytes.Contains(raw, []byte(`"kind"`)) {
				out = append(out, raw)
			}
		}
	}
	return out
}

// mutated returns one of the objects with a part of it changed, removed, repeated or taken from another one.
func mutated(rng *rand.Rand, all [][]byte) []byte {
	raw := slices.Clone(all[rng.IntN(len(all))])
	if rng.IntN(3) == 0 {
		at := rng.IntN(len(raw))
		raw[at] = []byte(`{}[]":,x0-null\ `)[rng.IntN(16)]
		return raw
	}
	var tree, other any
	if json.Unmarshal(raw, &tree) != nil || json.Unmarshal(all[rng.IntN(len(all))], &other) != nil {
		return raw
	}
	for range 1 + rng.IntN(2) {
		change(rng, tree, other)
	}
	out, err := json.Marshal(tree)
	if err != nil {
		return raw
	}
	if rng.IntN(4) == 0 { // the same field again
		out = append([]byte(`{"metadata":{"name":"first"},`), out[1:]...)
	}
	return out
}

var values = []any{nil, true, 3, -1, 2.5, "", "x", "1Gi", "2026-01-02T03:04:05Z", []any{}, []any{nil}, map[string]any{}, map[string]any{"a": "b"}}

// change changes one value somewhere in a tree.
func change(rng *rand.Rand, tree, other any) {
	with := values[rng.IntN(len(values))]
	if rng.IntN(3) == 0 {
		with = pick(rng, other)
	}
	switch t := tree.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(t))
		switch {
		case len(keys) == 0 || rng.IntN(12) == 0:
			t["surplus"] = with
		case rng.IntN(4) > 0:
			change(rng, t[keys[rng.IntN(len(keys))]], other)
		case rng.IntN(2) == 0:
			delete(t, keys[rng.IntN(len(keys))])
		default:
			t[keys[rng.IntN(len(keys))]] = with
		}
	case []any:
		switch {
		case len(t) == 0:
		case rng.IntN(2) == 0:
			change(rng, t[rng.IntN(len(t))], other)
		default:
			t[rng.IntN(len(t))] = with
		}
	}
}

// pick returns a value somewhere in a tree.
func pick(rng *rand.Rand, tree any) any {
	switch t := tree.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(t)) {
			if rng.IntN(3) == 0 {
				return pick(rng, t[key])
			}
		}
	case []any:
		if len(t) > 0 {
			return pick(rng, t[rng.IntN(len(t))])
		}
	}
	return tree
}

func TestFastReadsEveryKind(t *testing.T) {
	d := &decoder{}
	for name, k := range kinds {
		raw := []byte(`{"apiVersion":"` + k.apiVersions[0] + `","kind":"` + name + `","metadata":{"name":"a","labels":{"b":"c"}}}`)
		if !d.fast(raw, k.empty()) {
			t.Errorf("%s is not decoded fast", name)
		}
	}
}

// Values that pods share are not mixed up once there are too many to keep.
func TestSharedValuesAreThoseOfTheText(t *testing.T) {
	d := &decoder{}
	for i := range 3 * maximumShared {
		raw := []byte(`{"metadata":{"name":"a","labels":{"n":"` + string(rune('a'+i%26)) + indexOf(int32(i)) + `"}}}`)
		compareDecoders(t, d, raw)
	}
}
