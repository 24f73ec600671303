//go:build !js

package cli

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/stowage-scheduler/stowage/clients/quote"
)

// machineCommands are the commands that answer no question about manifests. They need a machine: files, sockets, a shell.
type machineCommands struct {
	Serve      serveCommand      `cmd:"" example:"serve; serve --listen 127.0.0.1:9000 --server stowage:7433" help:"Answer the questions of the other commands over HTTP, about the objects in the body of each request."`
	MCP        mcpCommand        `cmd:"" name:"mcp" example:"mcp -f cluster.json; mcp --cluster" help:"Let an agent put the questions of the other commands, as tools of the Model Context Protocol on standard input and output."`
	Completion completionCommand `cmd:"" example:"completion bash" help:"Print a completion script for a shell."`
	Man        manCommand        `cmd:"" example:"man > stowage.1" help:"Print the manual page."`
}

// Run runs the command and returns its exit code.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	return RunAs(ctx, name, args, stdin, stdout, stderr)
}

// RunAs is Run for a program of a path. One that is named kubectl-stowage is a plugin of kubectl, which its usage says.
func RunAs(ctx context.Context, program string, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	called := name
	if strings.TrimSuffix(filepath.Base(program), ".exe") == "kubectl-stowage" {
		called = "kubectl stowage"
	}
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(exited)
			if !ok {
				panic(r)
			}
			code = int(e)
		}
	}()
	parser, err := newParser(called, stdout, stderr)
	if err != nil {
		return printError(stderr, err)
	}
	if len(args) == 0 {
		args = []string{"help"}
	}
	if args[0] == callback {
		if err := complete(parser.Model, args, stdout, stderr); err != nil {
			return printError(stderr, err)
		}
		return exitYes
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return printError(stderr, err)
	}
	out := &output{w: stdout}
	s := &session{
		ctx: ctx, stdin: interruptible{ctx, stdin}, stdout: out, raw: out, stderr: stderr, parser: parser,
		application: parser.Model, command: parsed.Selected().Name,
	}
	if f, ok := isTerminal(stdout); ok {
		s.terminal = f
	}
	if _, ok := isTerminal(stderr); ok {
		s.progress = &progressLine{w: stderr, interval: time.Second}
		s.stderr, out.before = s.progress, s.progress.silence
	}
	s.stderr = quote.Terminal(s.stderr, false)
	answer := answered(exitYes)
	err = parsed.Run(s, &answer)
	if err == nil {
		err = out.err
	}
	if err != nil {
		return printError(stderr, err)
	}
	return int(answer)
}
