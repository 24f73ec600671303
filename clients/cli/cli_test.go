package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stowage-scheduler/stowage/clients/cli"
	"github.com/stowage-scheduler/stowage/clients/servertest"
	"github.com/stowage-scheduler/stowage/engine/enginetest/raced"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"stowage": func() { os.Exit(cli.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScripts runs testdata/script. UPDATE=1 rewrites what the scripts expect; read the difference.
func TestScripts(t *testing.T) {
	examples, err := filepath.Abs("../examples")
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	if raced.Detector && testing.Short() { // each of their commands is a process, which takes seconds to start with it
		var some []string
		for part := range slices.Chunk(scripts, 4) {
			some = append(some, part[0])
		}
		scripts = some
	}
	server := servertest.Start(t)
	testscript.Run(t, testscript.Params{
		Files:         scripts,
		UpdateScripts: os.Getenv("UPDATE") != "",
		Setup: func(e *testscript.Env) error {
			e.Setenv("EXAMPLES", examples)
			e.Setenv("SERVER", server.Address)
			e.Setenv("PENDING", filepath.Join(filepath.Dir(examples), "scenarios", "testdata", "pending"))
			return nil
		},
	})
}
