package gctune

import (
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func TestPercent(t *testing.T) {
	for _, c := range []struct {
		headroom, live uint64
		want           int
	}{
		{64 << 20, 0, 1600},
		{64 << 20, 1 << 20, 1600},
		{64 << 20, 4 << 20, 1600},
		{64 << 20, 64 << 20, 100},
		{64 << 20, 1 << 30, 100},
		{0, 0, 100},
	} {
		if got := percent(c.headroom, c.live); got != c.want {
			t.Errorf("headroom %d, live heap %d: %d %%, want %d", c.headroom, c.live, got, c.want)
		}
	}
}

// TestGoal checks the heap goal from the first collection on.
func TestGoal(t *testing.T) {
	inChild(t, "", func() {
		const headroom = 64 << 20
		EnsureHeadroom(headroom)
		for range 3 {
			if goal := heapGoal(); goal < headroom || goal > 2*headroom {
				t.Errorf("the heap goal is %d bytes with a headroom of %d", goal, headroom)
			}
			runtime.GC()
		}
	})
}

func TestHeadroomFollowsLiveHeap(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(defaultPercent))
	EnsureHeadroom(256 << 20)
	live := make([]byte, 512<<20)
	eventually(t, "large live heap", func(percent int) bool { return percent == defaultPercent })
	runtime.KeepAlive(live)
	eventually(t, "small live heap", func(percent int) bool { return percent > 4*defaultPercent })
}

func TestGOGCIsRespected(t *testing.T) {
	inChild(t, "50", func() {
		EnsureHeadroom(1 << 30)
		for range 10 {
			runtime.GC()
		}
		if got := gcPercent(); got != 50 {
			t.Errorf("%d %%", got)
		}
	})
}

// inChild runs a test in a child process.
func inChild(t *testing.T, gogc string, test func()) {
	const child = "STOWAGE_TEST_CHILD"
	if os.Getenv(child) != "" {
		test()
		return
	}
	c := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	c.Env = append(os.Environ(), "GOGC="+gogc, child+"=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func eventually(t *testing.T, when string, is func(percent int) bool) {
	t.Helper()
	for begin := time.Now(); !is(gcPercent()); runtime.GC() {
		if time.Since(begin) > time.Minute {
			t.Fatalf("%s: GOGC is %d", when, gcPercent())
		}
	}
}

func gcPercent() int { return int(read("/gc/gogc:percent")) }

func heapGoal() uint64 { return read("/gc/heap/goal:bytes") }

func read(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
