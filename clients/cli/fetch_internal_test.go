//go:build !js

package cli

import (
	"io"
	"strings"
	"testing"
)

func TestWhatIsReadFromAURLIsBounded(t *testing.T) {
	if _, err := io.ReadAll(&limited{in: strings.NewReader("12345"), left: 5}); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadAll(&limited{in: strings.NewReader("123456"), left: 5}); err == nil {
		t.Error("a sixth byte is read")
	}
}
