package garbage

import (
	"math"
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
		{64 << 20, 0, math.MaxInt32},
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
	const child = "STOWAGE_TEST_CHILD"
	if os.Getenv(child) == "" {
		c := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
		c.Env = append(os.Environ(), "GOGC=50", child+"=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	LeaveRoom(1 << 30)
	for range 10 {
		runtime.GC()
	}
	if got := gcPercent(); got != 50 {
		t.Errorf("%d %%", got)
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

func gcPercent() int {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}
