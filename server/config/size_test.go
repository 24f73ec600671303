package config

import (
	"math"
	"testing"
)

func TestFitMemory(t *testing.T) {
	const mib = 1 << 20
	for name, test := range map[string]struct {
		limit                                  int64
		received, inFlight, snapshots          int64
		wantReceived, wantInFlight, wantCached int64
	}{
		"without a limit":           {math.MaxInt64, Auto, Auto, Auto, 256 * mib, 1024 * mib, 1024 * mib},
		"all by the limit":          {1920 * mib, Auto, Auto, Auto, 84 * mib, 84 * mib, 420 * mib},
		"snapshots get the rest":    {1920 * mib, Auto, 40 * mib, Auto, 40 * mib, 40 * mib, 1080 * mib},
		"requests get the rest":     {1920 * mib, Auto, Auto, 1080 * mib, 40 * mib, 40 * mib, 1080 * mib},
		"there is no rest":          {1920 * mib, Auto, 200 * mib, Auto, 200 * mib, 200 * mib, 105 * mib},
		"no rest for requests":      {1920 * mib, Auto, Auto, 2000 * mib, 7 * mib, 7 * mib, 2000 * mib},
		"a stated message must fit": {1920 * mib, 100 * mib, Auto, Auto, 100 * mib, 100 * mib, 420 * mib},
		"all stated":                {1920 * mib, 1, 2, 3, 1, 2, 3},
		"much memory":               {1 << 40, Auto, Auto, Auto, 256 * mib, (1 << 40) / 8 * 7 * 3 / 4 / 15, (1 << 40) / 8 * 7 / 4},
	} {
		t.Run(name, func(t *testing.T) {
			c := Config{MaxReceiveMessageBytes: int(test.received), MaxInFlightBytes: test.inFlight, MaxSnapshotBytes: test.snapshots}
			c.FitMemory(test.limit)
			if int64(c.MaxReceiveMessageBytes) != test.wantReceived || c.MaxInFlightBytes != test.wantInFlight ||
				c.MaxSnapshotBytes != test.wantCached {
				t.Errorf("messages of %d, %d in flight, %d of snapshots", c.MaxReceiveMessageBytes, c.MaxInFlightBytes, c.MaxSnapshotBytes)
			}
		})
	}
}
