package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// powershell prints a completer. Paths are left to PowerShell, which completes them where a completer returns nothing.
func powershell(w io.Writer, a *kong.Application) {
	quoted := func(words []string) string {
		for i, word := range words {
			words[i] = "'" + strings.ReplaceAll(word, "'", "''") + "'"
		}
		return "@(" + strings.Join(words, ", ") + ")"
	}
	fmt.Fprintf(w, "Register-ArgumentCompleter -Native -CommandName %s -ScriptBlock {\n", name)
	fmt.Fprintln(w, "  param($word, $ast, $cursor)")
	fmt.Fprintln(w, "  $before = @($ast.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursor } | ForEach-Object { $_.ToString() })")
	fmt.Fprintln(w, "  $command = if ($before.Count -gt 1) { $before[1] } else { '' }")
	fmt.Fprintln(w, "  $words = switch -CaseSensitive (\"$command $($before[-1])\") {")
	var commands []string
	for _, c := range commandsOf(a) {
		commands = append(commands, c.Name)
		for _, f := range c.Flags {
			values := "return"
			switch words := valuesOf(f); {
			case readable(f.Tag) != "":
				values = fmt.Sprintf("& %s values %s @($before | Select-Object -Skip 1)", name, readable(f.Tag))
			case len(words) > 0:
				values = quoted(words)
			case f.IsBool():
				continue
			}
			for _, flag := range flagNames(f) {
				fmt.Fprintf(w, "    '%s %s' { %s }\n", c.Name, flag, values)
			}
		}
	}
	fmt.Fprintln(w, "  }\n  if (-not $words) {\n    $words = switch -CaseSensitive ($command) {")
	fmt.Fprintf(w, "      '' { %s }\n", quoted(commands))
	for _, c := range commandsOf(a) {
		fmt.Fprintf(w, "      '%s' { %s }\n", c.Name, quoted(wordsOf(c)))
	}
	fmt.Fprintln(w, "    }\n  }")
	fmt.Fprintln(w, "  $words | Where-Object { $_ -clike \"$word*\" } | ForEach-Object {")
	fmt.Fprintln(w, "    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)\n  }\n}")
}
