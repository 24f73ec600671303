package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"stowage-server": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:  "testdata",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"bad-settings": refused},
	})
}

// refused runs the server with arguments that it is to refuse as bad settings.
func refused(ts *testscript.TestScript, _ bool, args []string) {
	var exit *exec.ExitError
	if err := ts.Exec("stowage-server", args...); !errors.As(err, &exit) || exit.ExitCode() != 2 {
		ts.Fatalf("want exit code 2, got %v", err)
	}
}

func TestHealthcheck(t *testing.T) {
	code := http.StatusOK
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.WriteHeader(code)
	}))
	defer admin.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(admin.URL, "http://"), ":")
	for _, address := range []string{"127.0.0.1:" + port, ":" + port, "0.0.0.0:" + port} {
		h := healthcheck{AdminAddress: address, Timeout: time.Minute}
		code = http.StatusOK
		if err := h.Run(context.Background()); err != nil {
			t.Errorf("%s: ready, but: %v", address, err)
		}
		code = http.StatusServiceUnavailable
		if err := h.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "503") {
			t.Errorf("%s: not ready, but: %v", address, err)
		}
	}
	if err := (&healthcheck{AdminAddress: "nonsense", Timeout: time.Minute}).Run(context.Background()); err == nil {
		t.Error("no error for an address without a port")
	}
}
