//go:build !js

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/carapace-sh/carapace"
	"github.com/carapace-sh/carapace/pkg/uid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stowage-scheduler/stowage/clients/quote"
)

// completionCommand prints a script that asks this program at each TAB.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish,powershell" help:"${enum}. For example: source <(stowage completion bash)"`
}

// Run is called by kong.
func (c *completionCommand) Run(s *session) error {
	script, err := carapace.Gen(completer(s.application)).Snippet(c.Shell)
	if err != nil {
		return err
	}
	// The scripts call the file that printed them, whatever it is called.
	_, err = io.WriteString(s.stdout, strings.ReplaceAll(script, uid.Executable()+" "+callback, name+" "+callback))
	return err
}

// callback is the command that the scripts of completion call, as in "stowage _carapace bash stowage drain n".
const callback = "_carapace"

// complete prints the candidates for the last word of a command line, quoted for a shell.
func complete(a *kong.Application, args []string, stdout, stderr io.Writer) error {
	if len(args) < 3 || !slices.Contains(shells, args[1]) {
		return fmt.Errorf("%s is for the scripts of completion", callback)
	}
	root := completer(a)
	if args[1] == "powershell" {
		carapace.Gen(root).PreInvoke(bareOnly)
	}
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return root.Execute()
}

// bareOnly leaves out all that needs quotation marks, such as some paths: carapace does not escape quotation marks within them for PowerShell.
func bareOnly(_ *cobra.Command, _ *pflag.Flag, action carapace.Action) carapace.Action {
	return carapace.ActionCallback(func(c carapace.Context) carapace.Action {
		invoked := action.Invoke(c)
		var candidates struct{ Values []struct{ Value string } }
		text, err := json.Marshal(invoked)
		if err != nil || json.Unmarshal(text, &candidates) != nil {
			return carapace.ActionValues()
		}
		var left []string
		for _, v := range candidates.Values {
			if !quote.Bare(v.Value) {
				left = append(left, v.Value)
			}
		}
		return invoked.Filter(left...).ToA()
	})
}

var shells = []string{"bash", "zsh", "fish", "powershell"}

// completer is the grammar as package carapace completes it.
func completer(a *kong.Application) *cobra.Command {
	nothing := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: name, Run: nothing}
	for _, c := range commandsOf(a) {
		command := &cobra.Command{Use: c.Name, Short: c.Help, Run: nothing}
		actions := carapace.ActionMap{}
		for _, f := range c.Flags {
			addFlag(command.Flags(), f)
			actions[f.Name] = flagAction(command.Flags(), f)
		}
		root.AddCommand(command)
		carapace.Gen(command).FlagCompletion(actions)
		carapace.Gen(command).PositionalAnyCompletion(argumentAction(command.Flags(), c))
	}
	carapace.Gen(root).Standalone()
	return root
}

func addFlag(to *pflag.FlagSet, f *kong.Flag) {
	short := ""
	if f.Short != 0 {
		short = string(f.Short)
	}
	if f.IsBool() {
		to.BoolP(f.Name, short, false, f.Help)
	} else {
		to.StringArrayP(f.Name, short, nil, f.Help)
	}
}

// flagAction completes the value of a flag.
func flagAction(typed *pflag.FlagSet, f *kong.Flag) carapace.Action {
	switch {
	case readable(f.Tag) != "":
		return read(typed, readable(f.Tag))
	case f.PlaceHolder == "DIRECTORY":
		return carapace.ActionDirectories()
	case f.PlaceHolder == "PATH" || f.PlaceHolder == "FILE":
		return carapace.ActionFiles()
	case f.Tag.Has("words"): // not all of its values
		return carapace.ActionValues(commaSeparated(f.Tag.Get("words"))...).NoSpace('=')
	}
	return carapace.ActionValues(commaSeparated(f.Enum)...)
}

// argumentAction completes the arguments of a command.
func argumentAction(typed *pflag.FlagSet, c *kong.Node) carapace.Action {
	var words []string
	for _, p := range c.Positional {
		if readable(p.Tag) != "" {
			return read(typed, readable(p.Tag))
		}
		words = append(words, commaSeparated(p.Enum)...)
	}
	return carapace.ActionValues(words...)
}

// readable is the kind of the values of a flag or an argument that manifests or the kubeconfig have; empty for none.
func readable(tag *kong.Tag) string { return tag.Get("values") }

// read completes what manifests or the kubeconfig have. It offers no value that some shell takes for more than a word: what is called
// like that is the name of no object, and carapace does not quote for all that each shell does with words, such as the history of bash.
func read(typed *pflag.FlagSet, kind string) carapace.Action {
	return carapace.ActionCallback(func(carapace.Context) carapace.Action {
		return carapace.ActionValues(slices.DeleteFunc(valuesOf(questionOf(typed), kind), func(value string) bool {
			return !quote.Bare(value)
		})...)
	})
}
