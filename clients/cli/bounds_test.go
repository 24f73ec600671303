//go:build linux && !race

package cli_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Bounds of the command for input that has no end, or far more than it seems.
const (
	maximumPeak = 1 << 30 // of memory
	maximumTime = 2 * time.Minute
)

// repeated is a reader without end.
type repeated struct {
	text []byte
	at   int
}

func (r *repeated) Read(p []byte) (n int, err error) {
	for n < len(p) {
		copied := copy(p[n:], r.text[r.at:])
		n, r.at = n+copied, (r.at+copied)%len(r.text)
	}
	return n, nil
}

// bomb is 2 GiB of a text, by gzip: members may follow one another.
func bomb(t *testing.T, head, text string) []byte {
	t.Helper()
	pack := func(text []byte) []byte {
		var out bytes.Buffer
		w, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed)
		if _, err := w.Write(text); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	const member = 16 << 20
	return append(pack([]byte(head)), bytes.Repeat(pack(bytes.Repeat([]byte(text), member/len(text))), 2<<30/member)...)
}

// TestInputIsBounded reads what has no end, and what is far larger than it seems, by a process whose memory is measured.
func TestInputIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("reads gigabytes")
	}
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string, content []byte) string {
		if err := os.MkdirAll(filepath.Dir(path(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path(name), content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path(name)
	}
	write("pipe/good.yaml", []byte(goodCluster))
	write("device/good.yaml", []byte(goodCluster))
	if err := syscall.Mkfifo(path("pipe/fifo.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", path("device/zero.yaml")); err != nil {
		t.Fatal(err)
	}
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.Copy(w, &repeated{text: []byte("# " + strings.Repeat("x", 1<<16) + "\n")})
	}))
	t.Cleanup(endless.Close)
	long := strings.Repeat("x", 4<<20)
	object := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}},`
	for _, test := range []struct {
		name  string
		args  []string
		stdin io.Reader
		want  string
	}{
		{"zeros", []string{"-f", "/dev/zero"}, nil, "/dev/zero: document 1: not a text file: contains a NUL byte"},
		{"template of zeros", []string{"-f", write("good.yaml", []byte(goodCluster)), "--profile", "/dev/zero"}, nil, "/dev/zero: more than 1048576 bytes"},
		{"lines", []string{"-f", "-"}, &repeated{text: []byte("y\n")}, "a YAML document of more than 201326592 bytes"},
		{"one line", []string{"-f", "-"}, &repeated{text: []byte("y")}, "a YAML document of more than 201326592 bytes"},
		{"comments", []string{"-f", "-"}, &repeated{text: []byte("# y\n")}, "a YAML document of more than 201326592 bytes"},
		{"documents", []string{"-f", "-"}, &repeated{text: []byte("---\n")}, "more than 300000 documents"},
		{"objects", []string{"-f", "-"}, &repeated{text: []byte("{apiVersion: v1, kind: X}\n---\n")}, "more than 300000 "},
		{"JSON string", []string{"-f", "-"}, io.MultiReader(strings.NewReader(`{"a": "`), &repeated{text: []byte("y")}), "an object of more than 8388608 bytes"},
		{"JSON depth", []string{"-f", "-"}, io.MultiReader(strings.NewReader(`{"a": `), &repeated{text: []byte("[")}), "an object of more than 8388608 bytes"},
		{"JSON item", []string{"-f", "-"}, io.MultiReader(strings.NewReader(`{"items": [{"a": "`), &repeated{text: []byte("y")}), "an object of more than 8388608 bytes"},
		{"JSON items", []string{"-f", "-"}, io.MultiReader(strings.NewReader(`{"apiVersion":"v1","kind":"List","items": [`), &repeated{text: []byte(object)}), "more than 300000 objects"},
		{"JSON values", []string{"-f", "-"}, &repeated{text: []byte(`{"apiVersion":"v1","kind":"X"}`)}, "more than 300000 "},
		{"zeros by gzip", []string{"-f", write("zeros.json.gz", bomb(t, "", "\x00\x00"))}, nil, "not a text file: contains a NUL byte"},
		{"sequence by gzip", []string{"-f", write("sequence.yaml.gz", bomb(t, "a:\n", "- a\n"))}, nil, "a YAML document of more than 201326592 bytes"},
		{"items by gzip", []string{"-f", write("items.json.gz", bomb(t, `{"items":[`, "{},"))}, nil, "more than 300000 objects"},
		{"blanks by gzip", []string{"-f", write("blanks.json.gz", bomb(t, `{`, "        "))}, nil, "an object of more than 8388608 bytes"},
		{"sequence", []string{"-f", write("sequence.yaml", []byte("a:\n"+strings.Repeat("- a\n", 50<<20/4)))}, nil, "an object of more than 8388608 bytes"},
		{"aliases", []string{"-f", write("aliases.yaml", []byte("a: &a "+long+"\nb: ["+strings.Repeat("*a, ", 1<<19)+"]\n"))}, nil, "aliases expand to more than 8388608 bytes"},
		{"pipe", []string{"-R", "-f", path("pipe")}, nil, "fifo.yaml: not a regular file (p"},
		{"device", []string{"-R", "-f", path("device")}, nil, "zero.yaml: not a regular file (D"},
		{"URL", []string{"-f", endless.URL}, nil, "a YAML document of more than 201326592 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), maximumTime)
			defer cancel()
			var stderr bytes.Buffer
			command := exec.CommandContext(ctx, "stowage", append([]string{"place"}, test.args...)...)
			command.Stdin, command.Stderr, command.WaitDelay = test.stdin, &stderr, time.Second
			start := time.Now()
			_ = command.Run()
			code, peak := command.ProcessState.ExitCode(), command.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10
			t.Logf("%v, %d MiB", time.Since(start).Round(time.Millisecond), peak>>20)
			if code != 2 || !strings.Contains(stderr.String(), test.want) {
				t.Errorf("exit status %d: %.1000s", code, stderr.String())
			}
			if peak > maximumPeak {
				t.Errorf("%d MiB", peak>>20)
			}
		})
	}
}
