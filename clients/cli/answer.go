package cli

import (
	"io"

	"github.com/stowage-scheduler/stowage/clients/result"
)

// printAnswer prints an answer as a table, which write writes, or as a document. of has all but the text.
func (q *question) printAnswer(s *session, of result.AnswerOf, write func(w io.Writer, width int)) error {
	if q.Output == table {
		write(s.stdout, s.width)
		q.writeDoubts(s)
		return nil
	}
	of.Warn = of.Warn || q.caveat != ""
	of.Text = &result.Paper{}
	write(of.Text, result.PaperWidth)
	d, err := result.NewAnswer(of)
	if err != nil {
		return err
	}
	return q.printDocument(s.stdout, d)
}

// nodeNames names nodes as kubectl does.
func nodeNames(names []string) []string {
	var out []string
	for _, name := range names {
		out = append(out, "node/"+name)
	}
	return out
}
