package cli

import (
	"fmt"
)

// The exit codes.
const (
	exitYes    = 0
	exitNo     = 1
	exitError  = 2
	exitUnsure = 3
)

// answered is the exit code of an answer.
type answered int

func counted(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}
