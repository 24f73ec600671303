package garbage

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
		room, inUse uint64
		want        int
	}{
		{64 << 20, 0, 1600},
		{64 << 20, 1 << 20, 1600},
		{64 << 20, 4 << 20, 1600},
		{64 << 20, 64 << 20, 100},
		{64 << 20, 1 << 30, 100},
		{0, 0, 100},
	} {
		if got := percent(c.room, c.inUse); got != c.want {
			t.Errorf("room for %d beside %d: %d %%, want %d", c.room, c.inUse, got, c.want)
		}
	}
}

// TestGoal says that the room is there from the start, and no more than that.
func TestGoal(t *testing.T) {
	inChild(t, "", func() {
		const room = 64 << 20
		LeaveRoom(room)
		for range 3 {
			if goal := heapGoal(); goal < room || goal > 2*room {
				t.Errorf("the heap may grow to %d bytes with room for %d", goal, room)
			}
			runtime.GC()
		}
	})
}

func TestRoomFollowsWhatIsInUse(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(usual))
	LeaveRoom(256 << 20)
	kept := make([]byte, 512<<20)
	settles(t, "much is in use", func(percent int) bool { return percent == usual })
	runtime.KeepAlive(kept)
	settles(t, "little is in use", func(percent int) bool { return percent > 4*usual })
}

func TestAnOperatorsGOGCStands(t *testing.T) {
	inChild(t, "50", func() {
		LeaveRoom(1 << 30)
		for range 10 {
			runtime.GC()
		}
		if got := gcPercent(); got != 50 {
			t.Errorf("%d %%", got)
		}
	})
}

// inChild runs a test in a process of its own.
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

func settles(t *testing.T, when string, is func(percent int) bool) {
	t.Helper()
	for begin := time.Now(); !is(gcPercent()); runtime.GC() {
		if time.Since(begin) > time.Minute {
			t.Fatalf("%s, and the collector goes by %d %%", when, gcPercent())
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
