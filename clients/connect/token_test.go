package connect_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/clients/connect"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server"
	"github.com/stowage-scheduler/stowage/server/config"
)

// TestATokenIsSent expects that a server with an access file knows the caller by the token of a file, which is not sent in plain text.
func TestATokenIsSent(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a := newAuthority(t, "stowage")
	log := slog.New(slog.DiscardHandler)
	s, err := server.New(t.Context(), config.Config{
		ListenAddress: "127.0.0.1:0", AdminAddress: "127.0.0.1:0", TLSCertFile: a.cert, TLSKeyFile: a.key,
		AccessFile: write("access.yaml", fmt.Sprintf("tokens: [{name: me, sha256: %x}]\n"+
			"rules: [{callers: ['token:me'], tenant: mine, methods: [GetServerInfo]}]", sha256.Sum256([]byte("secret")))),
		MaxReceiveMessageBytes: 1 << 20, MaxInFlightBytes: 1 << 20, MaxConcurrentStreams: 10, MaxSnapshotBytes: 1 << 20,
	}, log)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	for text, want := range map[string]codes.Code{"secret\n": codes.OK, "another": codes.Unauthenticated} {
		f := &connect.Stowage{
			StowageAddress: []string{s.Address().String()}, StowageCAFile: a.cert, StowageServerName: "stowage",
			StowageTokenFile: write("token", text), StowagePatience: time.Second,
		}
		if err := f.Validate(); err != nil {
			t.Fatal(err)
		}
		c, err := f.Dial(log)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.GetServerInfo(t.Context(), &stowagev1.GetServerInfoRequest{}); status.Code(err) != want {
			t.Errorf("with %q: %v, want %v", text, err, want)
		}
		c.Close()
	}
	f := &connect.Stowage{StowageAddress: []string{"127.0.0.1:1"}, StowageTokenFile: write("token", "secret")}
	if err := f.Validate(); err == nil || !strings.Contains(err.Error(), "stowage-token-file: needs stowage-ca-file") {
		t.Errorf("in plain text: %v", err)
	}
	f.StowageTokenFile = filepath.Join(dir, "none")
	if _, err := f.Dial(log); err == nil || !strings.Contains(err.Error(), "stowage-token-file") {
		t.Errorf("without the file: %v", err)
	}
}
