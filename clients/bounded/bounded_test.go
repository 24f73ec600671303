package bounded

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadFile(t *testing.T) {
	if _, err := ReadFile("/dev/zero"); err == nil || err.Error() != "/dev/zero: more than 1048576 bytes" {
		t.Error(err)
	}
	for size, refused := range map[int]bool{1 << 20: false, 1<<20 + 1: true} {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		if text, err := ReadFile(path); (err != nil) != refused || !refused && len(text) != size {
			t.Errorf("a file of %d bytes: %d are read, %v", size, len(text), err)
		}
	}
	if text, err := ReadFile("doc.go"); err != nil || !strings.Contains(string(text), "package bounded") {
		t.Error(err)
	}
}

func TestAliases(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for text, refused := range map[string]bool{
		"a: &a " + long + "\nb: [" + strings.Repeat("*a, ", 100) + "]":      true,
		"a: &a {k: " + long + "}\nb:\n" + strings.Repeat("- *a\n", 100):     true,
		"a: &a {k: " + long + "}\nb:\n" + strings.Repeat("- <<: *a\n", 100): true,
		"a: &a x\nb: [*a, *a]":              false,
		"a: &a {b: c}\nd: {<<: *a, e: f}":   false,
		"schedule: '* * * * *'\nurl: a?b&c": false,
		"a: 1 &*a":                          false,
	} {
		if _, err := YAMLToJSON([]byte(text)); (err != nil) != refused || refused && err.Error() != "aliases expand to more than 8388608 bytes" {
			t.Errorf("%v for %.60q", err, text)
		}
	}
	// Ten generations of ten, and one that stands for itself.
	text := "a0: &a0 [x, x]\n"
	for _, g := range "123456789" {
		text += "a" + string(g) + ": &a" + string(g) + " [" + strings.Repeat("*a"+string(g-1)+", ", 10) + "]\n"
	}
	for _, text := range []string{text, "a: &a [*a]"} {
		if _, err := YAMLToJSON([]byte(text)); err == nil {
			t.Errorf("%.60q is read", text)
		}
	}
}
