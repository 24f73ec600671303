package deploytest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/alecthomas/kong"
	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/batch"
	"github.com/stowage-scheduler/stowage/clients/expander"
	"github.com/stowage-scheduler/stowage/clients/extender"
	"github.com/stowage-scheduler/stowage/server/config"
)

// ServerSettings parses a configuration file and further arguments as the server does, and validates them.
func ServerSettings(t testing.TB, file string, args ...string) config.Config {
	t.Helper()
	name := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(name, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	var flags struct {
		File kong.ConfigFlag `name:"config"`
		config.Config
	}
	parse(t, &flags, append(args, "--config="+name), config.Options()...)
	if err := flags.Config.Validate(); err != nil {
		t.Fatal(err)
	}
	return flags.Config
}

// ClientSettings parses and validates the arguments of a container as its command does, for containers named extender, batch or
// expander. It returns nil for any other container.
func ClientSettings(t testing.TB, c corev1.Container) any {
	t.Helper()
	var settings interface{ Validate() error }
	switch c.Name {
	case "extender":
		settings = new(extender.Config)
	case "batch":
		settings = new(batch.Config)
	case "expander":
		settings = new(expander.Config)
	default:
		return nil
	}
	parse(t, settings, c.Args)
	if err := settings.Validate(); err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	return settings
}

func parse(t testing.TB, into any, args []string, options ...kong.Option) {
	t.Helper()
	parser, err := kong.New(into, options...)
	if err == nil {
		_, err = parser.Parse(args)
	}
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
}

// CheckServerMemory checks that the memory of a server's container suffices for the concurrent requests that its settings allow.
func CheckServerMemory(t testing.TB, c config.Config, resources corev1.ResourceRequirements) {
	t.Helper()
	limit := resources.Limits.Memory().Value()
	if limit == 0 || resources.Requests.Memory().Value() != limit {
		t.Errorf("memory: requested %v, limit %v: a server that outgrows its request is the first to be evicted",
			resources.Requests.Memory(), resources.Limits.Memory())
	}
	// The garbage collector keeps to nine tenths of the limit (automemlimit's default).
	heap := limit / 10 * 9
	c.FitMemory(heap)
	buffers := 2 * config.BufferBytes(heap)
	if needed := c.MaxInFlightBytes*config.BytesPerInFlightByte + c.MaxSnapshotBytes + buffers; needed > heap {
		t.Errorf("%d bytes in flight, %d of snapshots and %d of buffers may need %d bytes of memory, the limit is %d",
			c.MaxInFlightBytes, c.MaxSnapshotBytes, buffers, needed, limit)
	}
	if _, limited := resources.Limits[corev1.ResourceCPU]; limited {
		t.Error("a limit of cpu would throttle the server in the middle of a request")
	}
}
