package extender

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/stowage-scheduler/stowage/clients/servertest"
)

func parsed(t *testing.T, args ...string) (*Config, error) {
	t.Helper()
	var c Config
	p, err := kong.New(&c, kong.Exit(func(int) { t.Fatal("exit") }))
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Parse(args)
	return &c, err
}

func TestTheProcess(t *testing.T) {
	server := servertest.Start(t)
	profile := filepath.Join(t.TempDir(), "profile.yaml")
	if err := os.WriteFile(profile, []byte("hardPodAffinityWeight: 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := parsed(t, "--listen-address=127.0.0.1:0", "--admin-address=127.0.0.1:0", "--stowage-address="+server.Address,
		"--drain-delay=0s", "--profile-file="+profile)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	listening, done := make(chan [2]net.Addr, 1), make(chan error, 1)
	go func() {
		done <- c.run(ctx, slog.New(slog.DiscardHandler), clients{api: newAPIServer(makeNode("a", "z1"))},
			func(extender, admin net.Addr) { listening <- [2]net.Addr{extender, admin} })
	}()
	at := <-listening
	get := func(path string) (int, string) {
		r, err := http.Get("http://" + at[1].String() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, _ := io.ReadAll(r.Body)
		return r.StatusCode, string(text)
	}
	eventually(t, "ready", func() bool { code, _ := get("/readyz"); return code == http.StatusOK })
	r, err := http.Post("http://"+at[0].String()+"/filter", "application/json",
		strings.NewReader(
			`{"Pod":{"metadata":{"name":"p","namespace":"default","uid":"p"},"spec":{"containers":[{"name":"c"}]}},"NodeNames":["a"]}`,
		))
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(r.Body)
	if r.Body.Close(); !strings.Contains(string(text), `"NodeNames":["a"]`) {
		t.Errorf("filter answers %s", text)
	}
	_, metrics := get("/metrics")
	for _, name := range []string{
		`stowage_extender_duration_seconds_count{part="stowage",verb="filter"} 1`,
		`stowage_extender_requests_total{result="ok",verb="filter"} 1`,
		`stowage_live_objects{kind="Node"} 1`, `stowage_live_refused{kind="Pod"} 0`, "rpc_client_",
	} {
		if !strings.Contains(metrics, name) {
			t.Errorf("no %s in %s", name, metrics)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("it does not stop")
	}
}

// The configuration that calls the extender gives it kube-scheduler's profile, whatever the range of its scores.
func TestTheProfileOfTheSchedulerThatCalls(t *testing.T) {
	for scores, file := range map[string]string{"rescaled": "scheduler.yaml", "exact": "scheduler-exact.yaml"} {
		c, err := parsed(t, "--scores="+scores, "--profile-file=../../deploy/extender/"+file)
		if err != nil {
			t.Fatal(err)
		}
		profile, err := c.profile()
		if err != nil || len(profile.GetPluginWeights()) > 0 {
			t.Errorf("%s: %v, %v", file, profile, err)
		}
	}
	c, err := parsed(t, "--scores=exact", "--profile-file=../../deploy/extender/scheduler.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.profile(); err == nil || !strings.Contains(err.Error(), "must be a multiple of 10 for exact scores") {
		t.Errorf("default weights and exact scores: %v", err)
	}
}

func TestBadSettings(t *testing.T) {
	for _, args := range [][]string{
		{"--listen-address=nowhere"}, {"--decide=later"}, {"--scores=guess"}, {"--score-plugins=Guess"}, {"--assume-for=0s"},
		{"--outcome-wait=-1s"}, {"--max-request-bytes=0"}, {"--tls-key-file=x"}, {"--stowage-cert-file=x"}, {"--log-level=loud"},
		{"--scheduler-lease=stowage"}, {"--scheduler-lease=a/b/c"}, {"--stowage-patience=-1s"},
		{"--stowage-patience=2s", "--request-timeout=2s"},
	} {
		if _, err := parsed(t, args...); err == nil {
			t.Errorf("%v are taken", args)
		}
	}
	file := filepath.Join(t.TempDir(), "profile.yaml")
	if err := os.WriteFile(file, []byte("hardPodAffinityWait: 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, file + "x"} {
		c, err := parsed(t, "--profile-file="+path, "--listen-address=127.0.0.1:0", "--admin-address=127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if err := c.run(t.Context(), slog.New(slog.DiscardHandler), clients{api: newAPIServer()},
			func(net.Addr, net.Addr) {}); err == nil || !strings.Contains(err.Error(), "profile-file") {
			t.Errorf("with %s: %v", path, err)
		}
	}
}
