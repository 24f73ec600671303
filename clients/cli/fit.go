package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/fit"
	"github.com/stowage-scheduler/stowage/clients/render/html"
	"github.com/stowage-scheduler/stowage/clients/render/text"
)

type fitCommand struct {
	question
	ties
	Mix      []string `placeholder:"NAME[=COUNT]" help:"Pending pod or workload to count, and how many of its pods make one unit. Repeat it for a mix. Default: the only one."`
	By       string   `placeholder:"LABEL" help:"Also count by the values of this node label, and what would fit in each alone."`
	MaxUnits uint32   `placeholder:"NUMBER" help:"Stop counting at this number."`
	Changes  bool     `help:"List changes with which more pods fit."`
}

// Run is called by kong.
func (c *fitCommand) Run(s *session, code *answered) error {
	mix, err := c.mix()
	if err != nil {
		return err
	}
	return ask(s, &c.question, code, "", func(q *answer.Question) (*fit.Answer, error) {
		q.TieBreak, q.Seed = c.tieBreak(), c.Seed
		return fit.Ask(s.ctx, q, fit.Options{Mix: mix, TopologyKey: c.By, MaxUnits: c.MaxUnits, Changes: c.Changes})
	}, text.Fit, html.Fit)
}

// mix returns what to count.
func (c *fitCommand) mix() ([]fit.Part, error) {
	var out []fit.Part
	for _, text := range c.Mix {
		name, number, given := strings.Cut(text, "=")
		count := uint64(1)
		if given {
			var err error
			if count, err = strconv.ParseUint(number, 10, 32); err != nil || count == 0 {
				return nil, fmt.Errorf("--mix=%s: the count is not a number of at least 1", text)
			}
		}
		out = append(out, fit.Part{Name: name, Count: uint32(count)})
	}
	return out, nil
}
