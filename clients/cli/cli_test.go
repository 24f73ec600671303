package cli_test

import (
	"context"
	"io"
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
		"stowage": func() {
			os.Exit(validated(func(stdout io.Writer) int {
				return cli.Run(context.Background(), os.Args[1:], os.Stdin, stdout, os.Stderr)
			}))
		},
	})
}

// TestScripts runs testdata/script, and validates the JSON documents that its commands print. UPDATE=1 rewrites what the scripts expect; read the difference.
func TestScripts(t *testing.T) {
	examples, err := filepath.Abs("../examples")
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	some := raced.Detector && testing.Short()
	if some { // each of their commands is a process, which takes seconds to start with it
		var first []string
		for part := range slices.Chunk(scripts, 4) {
			first = append(first, part[0])
		}
		scripts = first
	}
	server, schemas := servertest.Start(t), checkValidated(t, !some)
	testscript.Run(t, testscript.Params{
		Files:         scripts,
		UpdateScripts: os.Getenv("UPDATE") != "",
		Setup: func(e *testscript.Env) error {
			e.Setenv("EXAMPLES", examples)
			e.Setenv("SERVER", server.Address)
			e.Setenv("SCHEMAS", schemas)
			e.Setenv("PENDING", filepath.Join(filepath.Dir(examples), "scenarios", "testdata", "pending"))
			return nil
		},
	})
}
