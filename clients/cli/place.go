package cli

import (
	"github.com/stowage-scheduler/stowage/clients/report"
)

// width is that of tables, which lines of names keep to: output must not depend on where it goes.
const width = 100

type placeCommand struct {
	question
	Seed        uint64 `placeholder:"NUMBER" help:"Pick among equally good nodes by this seed; 0 picks the first."`
	TopologyKey string `placeholder:"LABEL" help:"Node label to draw the nodes by. Default: the zone, or what the pods' rules use."`
}

// Run is called by kong.
func (c *placeCommand) Run(s *session, code *answered) error {
	snapshot, err := c.snapshot(s)
	if err != nil {
		return err
	}
	request := snapshot.PlaceRequest()
	request.TieBreakSeed, request.Explain = c.Seed, c.Output == "table"
	if request.Profile, err = c.profile(); err != nil {
		return err
	}
	client, stop, err := c.connect(s.ctx)
	if err != nil {
		return err
	}
	defer stop()
	answer, err := client.Place(s.ctx, request)
	if err != nil {
		return c.located(err, snapshot, request)
	}
	*code = yes(answer.UnplacedCount == 0)
	if c.Output != "table" {
		return c.printMessage(s.stdout, answer)
	}
	key := c.TopologyKey
	if key == "" {
		key = report.TopologyKey(snapshot.Cluster)
	}
	p := report.Place{Snapshot: snapshot, TopologyKey: key, Width: width}
	p.Write(s.stdout, answer)
	return nil
}
