package quantity_test

import (
	"errors"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/quantity"
)

// hostile are texts that resource.ParseQuantity would not return from in the time of a test.
var hostile = map[string]error{
	"1e99999999":                 quantity.ErrExponent,
	"1E+99999999":                quantity.ErrExponent,
	"1e-2147483647":              quantity.ErrExponent,
	"-.5e0099999999":             quantity.ErrExponent,
	strings.Repeat("9", 1000000): quantity.ErrLength,
	"0." + strings.Repeat("0", 1000000) + "1": quantity.ErrLength,
}

func TestParse(t *testing.T) {
	for text, want := range hostile {
		if _, err := quantity.Parse(text); !errors.Is(err, want) {
			t.Errorf("Parse(%.20s) = %v, want %v", text, err, want)
		}
	}
	for _, text := range []string{"0", "100m", "1.5Gi", "1E", "2Ei", "1e3", "1E-3", "12e+006", "9223372036854775807", "1e999"} {
		if _, err := quantity.Parse(text); err != nil {
			t.Errorf("Parse(%s) = %v", text, err)
		}
	}
	for _, text := range []string{"", "one", "1x", "egg"} {
		if _, err := quantity.Parse(text); err == nil {
			t.Errorf("Parse(%q) did not fail", text)
		}
	}
}

func TestCheckJSON(t *testing.T) {
	const before = "spec.containers[1].resources.requests[cpu]: "
	for text, want := range hostile {
		for _, value := range []string{`"` + text + `"`, text} {
			raw := `{"metadata":{"labels":{"commit":"1e99999999"}},"spec":{"containers":[{},{"resources":{"requests":{"memory":"1","cpu":` +
				value + `,"cpu":"1"}}}]}}`
			err := quantity.CheckJSON([]byte(raw), &corev1.Pod{})
			if value == text && (text[0] == '-' || len(text) > 2 && text[1] == '.') && err == nil {
				continue // no number in JSON
			}
			if !errors.Is(err, want) || !strings.HasPrefix(err.Error(), before) {
				t.Errorf("CheckJSON(%.20s) = %v, want %s%v", value, err, before, want)
			}
			decode := jsonv2.WithUnmarshalers(jsonv2.UnmarshalFromFunc(quantity.Decode))
			if err := jsonv2.Unmarshal([]byte(raw), &corev1.Pod{}, decode); !errors.Is(err, want) {
				t.Errorf("Unmarshal(%.20s) = %v, want %v", value, err, want)
			}
		}
	}
	for raw, want := range map[string]string{
		`{"spec":{"volumes":[{"emptyDir":{"sizeLimit":"1e99999999"}}]}}`: "spec.volumes[0].emptyDir.sizeLimit",
		`{"spec":{"overhead":{"cpu":"1e99999999"}}}`:                     "spec.overhead[cpu]",
		`{"spec":{"overhead":{"cpu":"many"}}}`:                           "spec.overhead[cpu]",
		`{"spec":{"nodeSelector":{"cpu":"1e99999999"}}}`:                 "",
		`{"spec":{"overhead":"1e99999999"}}`:                             "",
		`{"spec":{"overhead":{"cpu":"1","memory":1000,"pods":null}}}`:    "",
		`{"unknown":{"cpu":"1e99999999"}}`:                               "",
	} {
		switch err := quantity.CheckJSON([]byte(raw), &corev1.Pod{}); {
		case want == "" && err != nil:
			t.Errorf("CheckJSON(%s) = %v", raw, err)
		case want != "" && (err == nil || !strings.HasPrefix(err.Error(), want+": ")):
			t.Errorf("CheckJSON(%s) = %v, want %s", raw, err, want)
		}
	}
}
