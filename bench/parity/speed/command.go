package speed

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/stowage-scheduler/stowage/bench/kubectldump"
)

// What the command reads: kubectl's output. The large one has more than 1 GiB.
const (
	auditNodes      = 1_000
	auditNodesSmall = 60
	dumpNodes       = 5_000
	dumpPodsPerNode = 20
)

const pendingPod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"pending"},"spec":{"containers":[{"name":"main","image":"example.com/main",` +
	`"resources":{"requests":{"cpu":"100m","memory":"64Mi"}}}]}}`

// command measures the stowage command with files, in a process of its own.
func (r *run) command() error {
	if r.Command == "" {
		log.Print("without the stowage command: not measured")
		return nil
	}
	dir, err := os.MkdirTemp("", "stowage-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	nodes := auditNodes
	if r.Options.Small {
		nodes = auditNodesSmall
	}
	file, _, err := dump(dir, nodes)
	if err != nil {
		return err
	}
	audit, err := r.commanded("0 broken", "audit", "-f", file)
	if err != nil {
		return err
	}
	r.setTime("audit", audit.timing)
	if r.Options.Small {
		return nil
	}
	file, size, err := dump(dir, dumpNodes)
	if err != nil {
		return err
	}
	if size < 1<<30 {
		return fmt.Errorf("a dump of %d bytes is too small", size)
	}
	pending := filepath.Join(dir, "pending.json")
	if err := os.WriteFile(pending, []byte(pendingPod), 0o600); err != nil {
		return err
	}
	placed, err := r.commanded("", "place", "-f", file, "-f", pending)
	if err != nil {
		return err
	}
	r.setRate("dump", float64(size)/1e6, placed.timing)
	r.set("dump-memory", float64(placed.peak)/1e9)
	return nil
}

// dump writes a cluster as kubectl prints it, with 20 pods a node.
func dump(dir string, nodes int) (path string, size int64, err error) {
	path = filepath.Join(dir, fmt.Sprint(nodes, ".json"))
	f, err := os.Create(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	if _, err := kubectldump.Write(f, kubectldump.Options{Nodes: nodes, PodsPerNode: dumpPodsPerNode}); err != nil {
		return "", 0, err
	}
	size, err = f.Seek(0, io.SeekEnd)
	return path, size, err
}

// commandRun is what a run of the command took.
type commandRun struct {
	timing
	peak int64 // of memory, in bytes
}

// commanded runs the command, whose output must contain a text.
func (r *run) commanded(want string, args ...string) (*commandRun, error) {
	var stdout, stderr bytes.Buffer
	c := exec.Command(r.Command, args...)
	c.Stdout, c.Stderr = &stdout, &stderr
	start := time.Now()
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %.1000s", args[0], err, stderr.String())
	}
	took := &commandRun{timing: timing{time.Since(start), c.ProcessState.UserTime() + c.ProcessState.SystemTime()}}
	if !strings.Contains(stdout.String(), want) {
		return nil, fmt.Errorf("%s: no %q in: %.1000s", args[0], want, stdout.String())
	}
	if usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		took.peak = usage.Maxrss << 10
	}
	return took, nil
}
