package cli

// The exit codes.
const (
	exitYes    = 0
	exitNo     = 1
	exitError  = 2
	exitUnsure = 3
)

// answered is the exit code of an answer.
type answered int
