package config_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/server/config"
)

var update = flag.Bool("update", false, "rewrite the golden file")

type commandLine struct {
	File kong.ConfigFlag `name:"config"`
	config.Config
}

func parse(t *testing.T, args ...string) (config.Config, error) {
	t.Helper()
	var c commandLine
	p, err := kong.New(&c, append(config.Options(), kong.Name("test"), kong.Exit(func(int) { t.Fatal("exit") }))...)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Parse(args)
	return c.Config, err
}

func defaults(t *testing.T) config.Config {
	t.Helper()
	c, err := parse(t)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestKeys(t *testing.T) {
	p, err := kong.New(&commandLine{}, append(config.Options(), kong.Name("test"))...)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range p.Model.Flags {
		if f.Name != "help" && f.Name != "config" {
			fmt.Fprintf(&b, "%s (%s, default %q)\n    %s\n", f.Name, strings.Join(f.Envs, ","), f.Default, f.Help)
		}
	}
	golden := filepath.Join("testdata", "keys.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("the keys changed; rewrite the golden file with -update. -want +got:\n%s", diff)
	}
	for line := range strings.SplitSeq(b.String(), "\n") {
		if strings.TrimSpace(line) == "" && line != "" {
			t.Error("a key has no help")
		}
	}
}

func TestPrecedence(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	for name, content := range map[string]string{
		"yaml": "drain-delay: 3s\nlog-level: debug\nrate-limit-burst: 7\nrate-limit-per-second: 0.5\npprof: true\n",
		"json": `{"drain-delay": "3s", "log-level": "debug", "rate-limit-burst": 7, "rate-limit-per-second": 0.5, "pprof": true}`,
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("STOWAGE_CONFIG", path)
			t.Setenv("STOWAGE_LOG_LEVEL", "warn")
			t.Setenv("STOWAGE_DRAIN_DELAY", "2s")
			got, err := parse(t, "--drain-delay=1s")
			if err != nil {
				t.Fatal(err)
			}
			want := defaultsWithoutEnvironment(t)
			want.DrainDelay = time.Second // flag over env over file
			want.LogLevel = "warn"        // env over file
			want.RateLimitBurst = 7       // file over default
			want.RateLimitPerSecond = 0.5
			want.Pprof = true
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// defaultsWithoutEnvironment are the defaults where the environment says otherwise.
func defaultsWithoutEnvironment(t *testing.T) config.Config {
	t.Helper()
	for _, v := range []string{"STOWAGE_CONFIG", "STOWAGE_LOG_LEVEL", "STOWAGE_DRAIN_DELAY"} {
		t.Setenv(v, os.Getenv(v)) // the test's end brings it back
		if err := os.Unsetenv(v); err != nil {
			t.Fatal(err)
		}
	}
	return defaults(t)
}

func TestBadFiles(t *testing.T) {
	for content, want := range map[string]string{
		"log-levels: debug\nzzz: 1\n": "unknown keys: log-levels, zzz",
		"log-level: [debug]\n":        "log-level: must be a scalar value",
		"- a\n":                       "cannot unmarshal",
		"drain-delay: soon\n":         "drain-delay",
		"max-snapshot-bytes: 1 pod\n": `must be auto, or a number of bytes such as 134217728 or 128Mi, is "1 pod"`,
	} {
		path := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := parse(t, "--config="+path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want one with %q", content, err, want)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"134217728": 128 << 20, "128Mi": 128 << 20, "128M": 128_000_000, "1.5Gi": 3 << 29, "0": 0} {
		got, err := parse(t, "--max-snapshot-bytes="+text)
		if err != nil || got.MaxSnapshotBytes != want {
			t.Errorf("%s: %d, %v, want %d", text, got.MaxSnapshotBytes, err, want)
		}
	}
	for _, text := range []string{"", "-1", "16Ei", "much", "1Mi2"} {
		if got, err := parse(t, "--max-snapshot-bytes="+text); err == nil {
			t.Errorf("%q is %d", text, got.MaxSnapshotBytes)
		}
	}
}

func TestUnknownVariables(t *testing.T) {
	p, err := kong.New(&commandLine{}, append(config.Options(), kong.Name("test"))...)
	if err != nil {
		t.Fatal(err)
	}
	got := config.UnknownVariables(p.Model, []string{
		"PATH=/bin", "STOWAGE_LOG_LEVEL=info", "STOWAGE_CONFIG=x", "STOWAGE_MAX_SNAPSHOTS_BYTES=1", "STOWAGE_LOGLEVEL=debug",
		"STOWAGE_BATCH_LOG_LEVEL=info", "STOWAGE_SERVICE_HOST=10.0.0.1", "STOWAGE_SERVICE_PORT_GRPC=7433", "STOWAGE_PORT=tcp://10.0.0.1:7433",
		"STOWAGE_PORT_7433_TCP_ADDR=10.0.0.1", "STOWAGE_ADMIN_SERVICE_PORT=1",
	})
	if diff := cmp.Diff([]string{"STOWAGE_LOGLEVEL", "STOWAGE_MAX_SNAPSHOTS_BYTES"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestValidate(t *testing.T) {
	c := defaults(t)
	if err := c.Validate(); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
	bad := config.Config{
		ListenAddress:          "localhost",
		AdminAddress:           "",
		TLSCertFile:            "cert",
		TLSClientCAFile:        "ca",
		MaxReceiveMessageBytes: 0,
		MaxInFlightBytes:       -2,
		MaxConcurrentStreams:   0,
		RateLimitPerSecond:     math.NaN(),
		RateLimitBurst:         0,
		MaxRequestDuration:     -1,
		MaxConnectionAge:       -1,
		DrainDelay:             -1,
		ShutdownGracePeriod:    -1,
		LogLevel:               "loud",
		LogFormat:              "xml",
	}
	err := bad.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	var keys []string
	for line := range strings.Lines(err.Error()) {
		key, _, _ := strings.Cut(line, ":")
		keys = append(keys, key)
	}
	want := []string{
		"listen-address", "admin-address", "tls-cert-file", "max-receive-message-bytes", "max-in-flight-bytes",
		"max-concurrent-streams", "rate-limit-per-second", "rate-limit-burst", "max-request-duration",
		"max-connection-age", "drain-delay", "shutdown-grace-period", "log-level", "log-format",
	}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	ca := defaults(t)
	ca.TLSClientCAFile = "ca"
	if err := ca.Validate(); err == nil || !strings.HasPrefix(err.Error(), "tls-client-ca-file: needs") {
		t.Errorf("got error %v", err)
	}
}
