package main

import (
	"bytes"
	"os"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
)

// TestPack expects a package that Helm loads, with the same bytes each time.
func TestPack(t *testing.T) {
	var packed [][]byte
	for range 2 {
		name, err := pack("../../../chart/stowage", t.TempDir(), time.Unix(1e9, 0))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		packed = append(packed, text)
	}
	if !bytes.Equal(packed[0], packed[1]) {
		t.Error("two packages of one chart differ")
	}
	c, err := loader.LoadArchive(bytes.NewReader(packed[0]))
	if err != nil {
		t.Fatal(err)
	}
	if c.Name() != "stowage" || len(c.Templates) < 20 || c.Schema == nil {
		t.Errorf("%s has %d templates and a schema of %d bytes", c.Name(), len(c.Templates), len(c.Schema))
	}
}
