package server

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stowage-scheduler/stowage/engine/enginetest/raced"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

const module = "github.com/stowage-scheduler/stowage/"

// onThePath are the packages that requests run through, with those below them.
var onThePath = []string{
	"engine", "proto/content", "server/placement", "server/snapshots", "server/decode", "server/encode", "server/wire",
	"server/interceptor", "server/telemetry", "server/work", "server/admission", "server/ledger",
}

// locked are the files with locks. One is taken by requests that found no seat, and while such requests wait by requests that end, give
// way, turn out to be more work, or arrive from a client that has made many; the other one where connections begin and end.
var locked = []string{"../server/admission/queue.go", "../server/ledger/stranger.go"}

// TestNoLocks finds locks in the source that are held too briefly to show in a profile. A WaitGroup is allowed: its user
// waits for goroutines of its own.
func TestNoLocks(t *testing.T) {
	files := 0
	for _, dir := range onThePath {
		err := filepath.WalkDir(filepath.Join("..", dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files++
			if slices.Contains(locked, filepath.ToSlash(path)) {
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name != "WaitGroup" {
					if of, ok := s.X.(*ast.Ident); ok && of.Name == "sync" {
						t.Errorf("%s uses sync.%s", path, s.Sel.Name)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 100 {
		t.Errorf("only %d files were found", files)
	}
}

// TestNobodyWaitsForALock loads a server in every way at once and looks for locks in the profiles of contention. A lock
// belongs to the function that calls package sync: locks of gRPC, of the log and of Go's runtime, below which the service
// runs or which it calls, are theirs.
func TestNobodyWaitsForALock(t *testing.T) {
	defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(1))
	runtime.SetBlockProfileRate(1000) // nanoseconds
	defer runtime.SetBlockProfileRate(0)

	c := testConfig()
	c.MaxSnapshotBytes = 2 << 20
	c.MaxInFlightBytes = 1 << 30
	w := &world{r: run(t, c, io.Discard, nil, nil)}
	for seed := range uint64(3) {
		w.add(t, randomCluster(rand.New(rand.NewPCG(seed, 1))))
	}
	steps := 50
	if raced.Detector {
		steps = 15
	}
	// How many of the calls get anywhere depends on whether somebody has put what they are about.
	enough := func() bool { return w.answers.Load() >= 20 && w.puts.Load() >= 5 && w.deltas.Load() >= 5 }
	var all sync.WaitGroup
	for seed, begin := uint64(0), time.Now(); seed < 8; seed++ {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 4))
			for i := 0; i < steps || !enough() && time.Since(begin) < patience; i++ {
				w.step(t, rng)
				v := w.any(rng)
				question := randomQuestion(rng, len(v.cluster.PodTemplates))(nil, &stowagev1.SnapshotReference{Address: v.address})
				for range 20 { // the first time it is worked out, then it is remembered
					if _, err := w.call(t, question); err != nil && !w.missing(v.put.Load(), err) {
						t.Error(err)
					}
				}
			}
		})
	}
	// A lock of this package, which must be found.
	var mutex sync.Mutex
	for range 2 {
		all.Go(func() {
			for range 100 {
				mutex.Lock()
				time.Sleep(time.Millisecond)
				mutex.Unlock()
			}
		})
	}
	all.Wait()
	if !enough() {
		t.Errorf("%d answers, %d puts, %d of deltas", w.answers.Load(), w.puts.Load(), w.deltas.Load())
	}
	for name, read := range map[string]func([]runtime.BlockProfileRecord) (int, bool){
		"mutex": runtime.MutexProfile, "block": runtime.BlockProfile,
	} {
		holders := lockHolders(read)
		found := false
		for holder := range holders {
			if strings.HasPrefix(holder, module+"server.TestNobodyWaitsForALock") {
				found = true
				continue
			}
			for _, ours := range onThePath {
				if strings.HasPrefix(holder, module+ours) && !strings.HasPrefix(holder, module+"server/admission.(*queues).") {
					t.Errorf("%s profile: %s waits for a lock", name, holder)
				}
			}
		}
		if !found {
			t.Errorf("%s profile: the lock of this test is not among %v", name, holders)
		}
	}
}

// lockHolders returns the functions whose locks were waited for, and how often.
func lockHolders(read func([]runtime.BlockProfileRecord) (int, bool)) map[string]int64 {
	n, _ := read(nil)
	records := make([]runtime.BlockProfileRecord, n+100)
	n, _ = read(records)
	holders := make(map[string]int64)
	for _, r := range records[:n] {
		frames := runtime.CallersFrames(r.Stack())
		locked := false
		for more := true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			if strings.HasPrefix(f.Function, "sync.(*Mutex).") || strings.HasPrefix(f.Function, "sync.(*RWMutex).") ||
				strings.HasPrefix(f.Function, "internal/sync.(*Mutex).") || strings.HasPrefix(f.Function, "sync.(*Cond).") {
				locked = true
				continue
			}
			if strings.HasPrefix(f.Function, "sync.") || !locked && strings.HasPrefix(f.Function, "runtime.") {
				continue
			}
			if locked {
				holders[f.Function] += r.Count
			}
			break
		}
	}
	return holders
}
