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
		"all by the limit":          {1040 * mib, Auto, Auto, Auto, 60 * mib, 60 * mib, 260 * mib},
		"snapshots get the rest":    {1040 * mib, Auto, 40 * mib, Auto, 40 * mib, 40 * mib, 520 * mib},
		"requests get the rest":     {1040 * mib, Auto, Auto, 520 * mib, 40 * mib, 40 * mib, 520 * mib},
		"there is no rest":          {1040 * mib, Auto, 100 * mib, Auto, 100 * mib, 100 * mib, 65 * mib},
		"no rest for requests":      {1040 * mib, Auto, Auto, 2000 * mib, 5 * mib, 5 * mib, 2000 * mib},
		"a stated message must fit": {1040 * mib, 100 * mib, Auto, Auto, 100 * mib, 100 * mib, 260 * mib},
		"all stated":                {1040 * mib, 1, 2, 3, 1, 2, 3},
		"much memory":               {1 << 40, Auto, Auto, Auto, 256 * mib, (1 << 40) * 3 / 4 / 13, 1 << 38},
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
