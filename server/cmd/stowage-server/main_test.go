package main

import (
	"context"
	"errors"
	"net"
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
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			// The port was free a moment ago; the server cannot be asked which one it took.
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			e.Setenv("ADMIN", l.Addr().String())
			return l.Close()
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"until-ready": untilReady, "bad-settings": refused,
		},
	})
}

// untilReady waits until a server with an admin address is ready.
func untilReady(ts *testscript.TestScript, _ bool, args []string) {
	h := healthcheck{AdminAddress: args[0], Timeout: time.Minute}
	var err error
	for range 1000 {
		if err = h.Run(context.Background()); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("never ready: %v", err)
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
