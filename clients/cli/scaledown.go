package cli

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/report"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

type scaleDownCommand struct {
	question
	Replicas uint32 `required:"" placeholder:"NUMBER" help:"How many replicas are to remain."`
	Workload string `placeholder:"NAME" help:"The Deployment, ReplicaSet, ReplicationController or StatefulSet. Needed if there are several."`
}

// Run is called by kong.
func (c *scaleDownCommand) Run(s *session, code *answered) error {
	snapshot, scheduler, err := c.read(s)
	if err != nil {
		return err
	}
	w, err := snapshot.Scalable(c.Workload)
	if err != nil {
		return err
	}
	client, stop, err := c.connect(s.ctx)
	if err != nil {
		return err
	}
	defer stop()
	var answer *stowagev1.ScaleDownResponse
	if err := c.ask(s, snapshot, func() (proto.Message, error) {
		request := snapshot.ScaleDownRequest(w, c.Replicas)
		request.Context.Profile = scheduler.Profile
		answer, err = client.ScaleDown(s.ctx, request)
		return request, err
	}); err != nil {
		return err
	}
	*code = c.verdict(s, snapshot, true, answer.Unread)
	if w.Controller != nil {
		where := ", which is not in the manifests"
		if w.Controlled {
			where = ""
		}
		fmt.Fprintf(s.stderr, "stowage: %s is controlled by %s%s: that one has to be scaled\n", w.Origin, w.Controller, where)
	}
	if w.Kind == "StatefulSet" {
		fmt.Fprintf(s.stderr, "stowage: StatefulSet %s/%s will delete the pods with the highest ordinals, whatever their costs\n", w.Namespace, w.Name)
	}
	if c.Output != "table" {
		return c.printMessage(s.stdout, answer)
	}
	r := &report.ScaleDown{Cluster: snapshot.Cluster, Workload: w, Width: width}
	r.Write(s.stdout, answer)
	report.Unread(s.stdout, answer.Unread, width)
	r.WriteCommands(s.stdout, answer)
	return nil
}
