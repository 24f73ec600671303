package cli

import "testing"

func TestListenAddresses(t *testing.T) {
	for listen, want := range map[string]string{
		"[::1]": "[::1]:8080", "::1": "[::1]:8080", "127.0.0.1": "127.0.0.1:8080", "localhost": "localhost:8080",
		"[::1]:90": "[::1]:90", "127.0.0.1:0": "127.0.0.1:0", ":90": ":90",
	} {
		if got := (&serveCommand{Listen: listen}).address(); got != want {
			t.Errorf("%s: %s, want %s", listen, got, want)
		}
	}
}
