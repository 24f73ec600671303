package cli

import (
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	"github.com/stowage-scheduler/stowage/clients/result"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

type scaleDownCommand struct {
	question
	Replicas uint32 `required:"" placeholder:"NUMBER" help:"Number of replicas to keep."`
	Workload string `placeholder:"[NAMESPACE/][KIND/]NAME" help:"The Deployment, ReplicaSet, ReplicationController or StatefulSet. Required if there are several."`
}

// Run is called by kong.
func (c *scaleDownCommand) Run(s *session, code *answered) error {
	var w *kube.Scalable
	return c.ask(s, func(a *asked) (err error) {
		w, err = a.snapshot.Scalable(c.Workload)
		return err
	}, func(a *asked) (proto.Message, error) {
		request := a.snapshot.ScaleDownRequest(w, c.Replicas)
		request.Context.Profile = a.scheduler.Profile
		response, err := a.ScaleDown(s.ctx, request)
		if err != nil {
			return request, err
		}
		return request, c.print(s, a.snapshot, w, response, code)
	})
}

// print prints an answer.
func (c *scaleDownCommand) print(s *session, snapshot *kube.Snapshot, w *kube.Scalable, response *stowagev1.ScaleDownResponse,
	code *answered,
) error {
	c.doubt(snapshot, w.Origin.String(), response)
	*code = c.verdict(s, snapshot, true)
	if w.Controller != nil {
		where := ", which is not in the manifests"
		if w.Controlled {
			where = ""
		}
		quote.Fprintf(s.stderr, "stowage: %s is controlled by %s%s: that one has to be scaled\n", w.Origin, w.Controller, where)
	}
	if w.Kind == "StatefulSet" && c.Output != table { // which says so with the commands
		quote.Fprintf(s.stderr, "stowage: StatefulSet %s/%s will delete the pods with the highest ordinals, whatever their costs\n", w.Namespace, w.Name)
	}
	of := result.AnswerOf{
		Kind: "ScaleDownReport", Title: "Which replicas to delete", Good: true, Value: response, Cluster: snapshot.Cluster,
		Effect: func(e *answer.Effect) {
			for _, d := range response.GetDeletions() {
				e.Move(d.GetPod(), nil)
			}
		},
	}
	var pods []string
	for _, d := range response.GetDeletions() {
		pods = append(pods, d.GetPod().GetName())
	}
	of.Names = podNames(pods)
	return c.printAnswer(s, of, func(to io.Writer, width int) {
		r := &text.ScaleDown{Cluster: snapshot.Cluster, Workload: w, Width: width}
		r.Write(to, response)
		r.WriteCommands(to, response)
	})
}
