package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/clients/verbs"
)

const (
	// HasCluster is a header of /healthz, by which the page finds out whether it can read a cluster.
	HasCluster = "Stowage-Cluster"
	// Notes is the header with what a cluster lacks: kinds that may not be listed.
	Notes = "Stowage-Notes"

	clusterPath = "/v1/cluster"
)

// readCluster answers with the objects of the cluster. It is a POST, which a browser sends for no page of another origin.
func (s *server) readCluster(w http.ResponseWriter, r *http.Request) {
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err != nil || !net.ParseIP(host).IsLoopback() {
		refuse(w, http.StatusForbidden, 0, verbs.Problem{Detail: "the cluster is for callers on this machine"})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.MaximumTime)
	defer cancel()
	control, end := http.NewResponseController(w), time.Now().Add(s.MaximumTime+answerTimeout)
	if err := errors.Join(control.SetReadDeadline(end), control.SetWriteDeadline(end)); err != nil { // past the former, net/http ends r's context
		refuse(w, http.StatusInternalServerError, 0, verbs.Problem{Detail: err.Error()})
		return
	}
	held := &share{of: s}
	defer held.release()
	if !s.occupies(ctx, s.cluster, 1) {
		fail(w, busy("another request reads the cluster"))
		return
	}
	out := &list{answer{share: held}}
	note, err := s.Cluster(ctx, out)
	s.cluster.Release(1)
	if err != nil {
		if _, own := errors.AsType[*httpError](err); ctx.Err() != nil {
			err = status.FromContextError(ctx.Err()).Err()
		} else if !own {
			err = &httpError{status: http.StatusBadGateway, detail: err.Error()}
		}
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if note != "" {
		quoted := strconv.QuoteToASCII(note)
		w.Header().Set(Notes, quoted[1:len(quoted)-1])
	}
	_, _ = w.Write(out.text.Bytes())
}

// list is a cluster that is being written. A question about it has to fit into a body.
type list struct{ answer }

func (l *list) Write(text []byte) (int, error) {
	if maximum := l.share.of.MaximumBody; int64(l.text.Len()+len(text)) > maximum {
		return 0, &httpError{
			status: http.StatusUnprocessableEntity, detail: fmt.Sprintf("the cluster has more than %d bytes, the maximum of a question about it", maximum),
		}
	}
	return l.answer.Write(text)
}
