package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCommand prints a script that is generated from the grammar.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish,powershell" help:"${enum}. For example: source <(stowage completion bash)"`
}

// Run is called by kong.
func (c *completionCommand) Run(s *session) error {
	switch c.Shell {
	case "fish":
		fish(s.stdout, s.application)
	case "powershell":
		powershell(s.stdout, s.application)
	case "zsh":
		fmt.Fprintln(s.stdout, "autoload -U +X bashcompinit && bashcompinit")
		bash(s.stdout, s.application)
	default:
		bash(s.stdout, s.application)
	}
	return nil
}

// flagNames are the spellings of a flag.
func flagNames(f *kong.Flag) []string {
	out := []string{"--" + f.Name}
	if f.Short != 0 {
		out = append(out, "-"+string(f.Short))
	}
	return out
}

// valuesOf are the values of a flag that are known.
func valuesOf(f *kong.Flag) []string {
	words := f.Enum
	if f.Tag.Has("words") { // not all of its values
		words = f.Tag.Get("words")
	}
	return strings.FieldsFunc(words, func(r rune) bool { return r == ',' })
}

// wordsOf are the flags of a command, and the values of its arguments that are known.
func wordsOf(c *kong.Node) []string {
	var out []string
	for _, f := range c.Flags {
		out = append(out, flagNames(f)...)
	}
	for _, p := range c.Positional {
		out = append(out, strings.FieldsFunc(p.Enum, func(r rune) bool { return r == ',' })...)
	}
	return out
}

// readable is the kind of the values of a flag or an argument that manifests or the kubeconfig have; empty for none.
func readable(tag *kong.Tag) string { return tag.Get("values") }

// argumentsOf is the kind of the values of a command's arguments.
func argumentsOf(c *kong.Node) string {
	for _, p := range c.Positional {
		if of := readable(p.Tag); of != "" {
			return of
		}
	}
	return ""
}

// commandsOf are the commands that are shown.
func commandsOf(a *kong.Application) []*kong.Node {
	return slices.DeleteFunc(slices.Clone(a.Children), func(c *kong.Node) bool { return c.Hidden })
}

// takesDirectory reports whether a flag's value is a directory.
func takesDirectory(f *kong.Flag) bool { return f.PlaceHolder == "DIRECTORY" }

// takesFile reports whether a flag's value is a path.
func takesFile(f *kong.Flag) bool {
	return f.PlaceHolder == "PATH" || f.PlaceHolder == "FILE"
}

func bash(w io.Writer, a *kong.Application) {
	fmt.Fprintf(w, "_%[1]s() {\n  local cur=${COMP_WORDS[COMP_CWORD]} words=\n  COMPREPLY=()\n", name)
	fmt.Fprintln(w, "  case ${COMP_WORDS[1]}:${COMP_WORDS[COMP_CWORD-1]} in")
	var commands []string
	for _, c := range commandsOf(a) {
		commands = append(commands, c.Name)
		for _, f := range c.Flags {
			var cases []string
			for _, name := range flagNames(f) {
				cases = append(cases, c.Name+":"+name)
			}
			switch {
			case readable(f.Tag) != "":
				fmt.Fprintf(w, "  %s) words=$(%s values %s \"${COMP_WORDS[@]:1}\" 2>/dev/null) ;;\n", strings.Join(cases, "|"), name, readable(f.Tag))
			case takesDirectory(f):
				fmt.Fprintf(w, "  %s) COMPREPLY=($(compgen -d -- \"$cur\")); return ;;\n", strings.Join(cases, "|"))
			case takesFile(f):
				fmt.Fprintf(w, "  %s) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n", strings.Join(cases, "|"))
			case len(valuesOf(f)) > 0:
				fmt.Fprintf(w, "  %s) words=%q ;;\n", strings.Join(cases, "|"), strings.Join(valuesOf(f), " "))
			case !f.IsBool():
				fmt.Fprintf(w, "  %s) return ;;\n", strings.Join(cases, "|"))
			}
		}
	}
	fmt.Fprintln(w, "  esac\n  if [[ -z $words ]]; then\n    case $COMP_CWORD:${COMP_WORDS[1]} in")
	fmt.Fprintf(w, "    1:*) words=%q ;;\n", strings.Join(commands, " "))
	for _, c := range commandsOf(a) {
		fmt.Fprintf(w, "    *:%s) words=%q", c.Name, strings.Join(wordsOf(c), " "))
		if of := argumentsOf(c); of != "" {
			fmt.Fprintf(w, "; [[ $cur == -* ]] || words=$(%s values %s \"${COMP_WORDS[@]:1}\" 2>/dev/null)", name, of)
		}
		fmt.Fprintln(w, " ;;")
	}
	fmt.Fprintf(w, "    esac\n  fi\n  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\ncomplete -F _%[1]s %[1]s\n", name)
}

func fish(w io.Writer, a *kong.Application) {
	fmt.Fprintf(w, "complete -c %s -f\n", name)
	for _, c := range commandsOf(a) {
		fmt.Fprintf(w, "complete -c %s -n __fish_use_subcommand -a %s -d %q\n", name, c.Name, c.Help)
		for _, f := range c.Flags {
			line := fmt.Sprintf("complete -c %s -n '__fish_seen_subcommand_from %s' -l %s", name, c.Name, f.Name)
			if f.Short != 0 {
				line += " -s " + string(f.Short)
			}
			switch {
			case readable(f.Tag) != "":
				line += fmt.Sprintf(" -x -a '(%s values %s (commandline -opc) 2>/dev/null)'", name, readable(f.Tag))
			case takesDirectory(f):
				line += " -x -a '(__fish_complete_directories)'"
			case takesFile(f):
				line += " -r -F"
			case len(valuesOf(f)) > 0:
				line += fmt.Sprintf(" -x -a %q", strings.Join(valuesOf(f), " "))
			case !f.IsBool():
				line += " -x"
			}
			fmt.Fprintln(w, line)
		}
		for _, p := range c.Positional {
			if of := readable(p.Tag); of != "" {
				fmt.Fprintf(w, "complete -c %s -n '__fish_seen_subcommand_from %s' -a '(%s values %s (commandline -opc) 2>/dev/null)'\n", name, c.Name, name, of)
				continue
			}
			fmt.Fprintf(w, "complete -c %s -n '__fish_seen_subcommand_from %s' -a %q\n", name, c.Name, strings.ReplaceAll(p.Enum, ",", " "))
		}
	}
}
