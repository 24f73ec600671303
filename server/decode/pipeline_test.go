package decode

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/proto/content"
)

// The goroutine that panics has a stack of its own, which the log must have.
func TestPanicsKeepTheirStack(t *testing.T) {
	for name, panics := range map[string]func(*decoder, runs){
		"while it reads": func(d *decoder, of runs) { d.inOrder(of, func(*reader, *chunk) { misread() }, func(*chunk) {}) },
		"while it commits": func(d *decoder, of runs) {
			d.inOrder(of, func(*reader, *chunk) {}, func(*chunk) { misread() })
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				got := fmt.Sprint(recover())
				if !strings.HasPrefix(got, "misread\n") || !strings.Contains(got, "decode.misread(") {
					t.Errorf("recovered %s", got)
				}
			}()
			panics(&newRequest(t.Context(), &content.Builder{}).decoder, runs{list: make([]run, 8), bytes: sequentialBytes + 1})
		})
	}
}

//go:noinline
func misread() { panic("misread") }
