//go:build linux

package cli_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// requireShells is set where the tests must not be skipped.
const requireShells = "REQUIRE_SHELLS"

// interactive are the shells of Debian with completion, as they start for a person without files of their own, and what loads the script.
var interactive = map[string]struct {
	command []string
	load    string
}{
	"bash": {[]string{"bash", "--noprofile", "--norc", "-i"}, "source <(stowage completion bash)"},
	"zsh":  {[]string{"zsh", "-f", "-i"}, "autoload -U compinit; compinit -u; source <(stowage completion zsh)"},
	"fish": {[]string{"fish", "--private", "-i"}, "stowage completion fish | source"},
}

// terminal is a shell in a pseudoterminal.
type terminal struct {
	keyboard *os.File

	lock    sync.Mutex
	text    bytes.Buffer
	presses int
}

// startShell starts a shell in a directory, which is its home too.
func startShell(t *testing.T, dir string, command []string) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetUint32(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 200})
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	shell := exec.CommandContext(t.Context(), command[0], command[1:]...)
	shell.Dir, shell.Stdin, shell.Stdout, shell.Stderr = dir, slave, slave, slave
	shell.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TERM=xterm", "KUBECONFIG=" + filepath.Join(dir, "config"), "LANG=C.UTF-8", "PS1=> "}
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close()
	out := &terminal{keyboard: master}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(out, master)
	}()
	t.Cleanup(func() {
		_ = shell.Process.Kill()
		_ = shell.Wait()
		_ = master.Close()
		<-done
	})
	return out
}

func (s *terminal) Write(b []byte) (int, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.text.Write(b)
}

// press types keys, and returns what the terminal shows until the shell has read them all: each key's work is done before the next is read.
// A line that is not complete, because of an open quote, is given up.
func (s *terminal) press(t *testing.T, keys string) string {
	t.Helper()
	s.lock.Lock()
	s.text.Reset()
	s.lock.Unlock()
	for range 5 {
		s.presses++
		if _, err := fmt.Fprintf(s.keyboard, "%secho do''ne-%d\n", keys, s.presses); err != nil {
			t.Fatal(err)
		}
		for range 300 {
			time.Sleep(10 * time.Millisecond)
			s.lock.Lock()
			text := s.text.String()
			s.lock.Unlock()
			if strings.Contains(text, fmt.Sprintf("done-%d", s.presses)) {
				return text
			}
		}
		keys = ""
		_, _ = io.WriteString(s.keyboard, "\x03")
		time.Sleep(300 * time.Millisecond) // what is typed before a shell has seen it is lost
	}
	t.Fatalf("the shell does not return after %q", keys)
	return ""
}

// hostile are names that do something where a shell reads them: they create a file whose name begins with "pwned".
var hostile = []string{
	"n$(touch${IFS}pwned)", "n`touch${IFS}pwned`", "n;touch pwned;", "n|touch pwned", "n&touch pwned&", "n\ntouch pwned\n", "n\rtouch pwned\r",
	"'; touch pwned; '", `"; touch pwned; "`, `\"$(touch pwned)`, "n (touch pwned)", "<(touch pwned)", "n>pwned", "--kubeconfig=x", "-ox", "~/x", "*",
	"{a,b}", "$HOME", "#x", "!!", "=ls", "%self", "n\x1b]0;x\a", "n\x03touch pwned\n", "n\ttouch pwned\n", "n\\\ntouch pwned\n",
}

// TestNoShellExecutesAName completes in each shell, and runs what was completed.
func TestNoShellExecutesAName(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for shells")
	}
	for name, shell := range interactive {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(shell.command[0]); err != nil {
				if os.Getenv(requireShells) != "" {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			dir := t.TempDir()
			writeHostile(t, dir)
			s := startShell(t, dir, shell.command)
			s.press(t, shell.load+"\n")
			// What has to work is not there for the test alone.
			if text := s.press(t, "stowage explain -f good.yaml sh\t\x15"); !strings.Contains(text, "op/deployment/web") {
				t.Errorf("%s does not complete: %q", name, text)
			}
			if text := s.press(t, "stowage what-if -f good.yaml --cordon \t\t\x15"); !strings.Contains(text, "a1") || !strings.Contains(text, "b1") {
				t.Errorf("%s lists no candidates: %q", name, text)
			}
			for _, typed := range []string{
				"drain -f evil.yaml ", "drain -f evil.yaml n", "explain -f evil.yaml ", "fail -f labels.yaml --zone ", "fail -f labels.yaml --each ",
				"place -f evil.yaml -n ", "place --kubeconfig config --context ", "place --kubeconfig config --context n", "place -f ", "place -f files/",
				"place -f files/n", "place -f files/n\\;", "place -f 'files/n", `place -f "files/n`, "place -k ", "place -k files/n",
			} {
				for _, keys := range []string{"\t\n\n", "\t\t\x1b[B\n\n"} {
					s.press(t, "stowage "+typed+keys)
					found, err := filepath.Glob(filepath.Join(dir, "*pwned*"))
					if err != nil || len(found) > 0 {
						t.Fatalf("after %q and %q in %s: %q %v", typed, keys, name, found, err)
					}
				}
			}
		})
	}
}

// writeHostile writes manifests, a kubeconfig and files with hostile names, and a manifest with good ones.
func writeHostile(t *testing.T, dir string) {
	t.Helper()
	var evil, labels, config strings.Builder
	config.WriteString("apiVersion: v1\nkind: Config\ncontexts:\n")
	if err := os.Mkdir(filepath.Join(dir, "files"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i, name := range hostile {
		fmt.Fprintf(&evil, "apiVersion: v1\nkind: Node\nmetadata: {name: %q}\n---\n", name)
		fmt.Fprintf(&evil, "apiVersion: v1\nkind: Pod\nmetadata: {name: %q, namespace: %q}\nspec: {containers: [{name: c, image: i}]}\n---\n", name, name)
		fmt.Fprintf(&labels, "apiVersion: v1\nkind: Node\nmetadata: {name: n%d, labels: {topology.kubernetes.io/zone: %q, %[2]q: x}}\n---\n", i, name)
		fmt.Fprintf(&config, "- {name: %q, context: {cluster: a, user: a}}\n", name)
		if path := strings.ReplaceAll(name, "/", "_"); os.Mkdir(filepath.Join(dir, "files", path), 0o700) != nil ||
			os.WriteFile(filepath.Join(dir, "files", path+".yaml"), nil, 0o600) != nil {
			t.Fatalf("no file %q", path)
		}
	}
	for name, text := range map[string]string{"evil.yaml": evil.String(), "labels.yaml": labels.String(), "config": config.String(), "good.yaml": goodCluster} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const goodCluster = `
{apiVersion: v1, kind: Node, metadata: {name: b1}}
---
{apiVersion: v1, kind: Node, metadata: {name: a1}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: x}]}}
`
