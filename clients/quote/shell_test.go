package quote

import (
	"os/exec"
	"testing"
)

func TestCommandsAreWordsOfAShell(t *testing.T) {
	for _, test := range []struct {
		names, flags []string
		want         string
	}{
		{[]string{"web-0"}, []string{"--namespace=shop"}, "kubectl delete pod web-0 --namespace=shop"},
		{[]string{"a.b_c/d=e:F"}, nil, "kubectl delete pod a.b_c/d=e:F"},
		{[]string{"a;touch b"}, nil, "kubectl delete pod 'a;touch b'"},
		{[]string{"$(touch b)", ""}, []string{"--namespace=~"}, "kubectl delete pod '$(touch b)' '' '--namespace=~'"},
		{[]string{"it's"}, nil, `kubectl delete pod 'it'\''s'`},
		{[]string{"a\nb"}, nil, `kubectl delete pod 'a\nb'`}, // on its line, so another name
		{[]string{"a"}, []string{"--namespace=--kubeconfig=x"}, "kubectl delete pod a --namespace=--kubeconfig=x"},
		{[]string{"--all"}, []string{"--namespace=shop"}, "kubectl delete pod --namespace=shop -- --all"},
	} {
		if got := Command("kubectl delete pod", test.names, test.flags...); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

// TestQuotedByAShell reads words back with the shell of the machine.
func TestQuotedByAShell(t *testing.T) {
	for _, word := range []string{"", "a", "a b", "'", `"`, `\`, "$HOME", "`id`", "$(id)", `a\nb`, "*", "~", "#", "!", "a;b", "a&b", "é", "{a,b}", "a=b", "=", "x'$(id)'"} {
		out, err := exec.Command("sh", "-c", Command("printf %s", []string{word})).Output()
		if err != nil || string(out) != word {
			t.Errorf("the shell reads %q of %q: %v", out, word, err)
		}
	}
}
