package placement

import (
	"context"
	"sync/atomic"

	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// maximumForms is under how many forms an answer is found before the request is decoded. A client that encodes maps in
// any order has more.
const maximumForms = 4

// remembered is an answer that a snapshot was asked for before.
type remembered struct {
	encoded  wire.Encoded
	feasible int
	forms    atomic.Int32
}

// asked is what is known of a request before it is decoded.
type asked struct {
	snapshot *decode.Cluster
	// form is a key of the snapshot, empty if the request has none.
	form string
	// before is the answer, nil if the request must be decoded.
	before *remembered
}

// asked looks a request up by its encoding.
func (s *Service) asked(encoded []byte, method string) asked {
	address, name, form, ok := wire.Form(encoded)
	if !ok || len(name) > decode.MaxNameBytes {
		return asked{}
	}
	snapshot, err := s.snapshot(address, "context.snapshot.address")
	if err != nil { // which is told once the request is decoded
		return asked{}
	}
	a := asked{snapshot: snapshot, form: method + ":" + string(form)}
	a.before, _ = snapshot.Kept(a.form).(*remembered)
	return a
}

// again gives the answer that was given before.
func (s *Service) again(ctx context.Context, method string, snapshot *decode.Cluster, a *remembered) wire.Encoded {
	s.decisions.CacheHit(ctx, method, snapshot.Len(), a.feasible)
	return a.encoded
}

// remember keeps an answer under the key of what was asked.
func remember(snapshot *decode.Cluster, key string, encoded wire.Encoded, feasible int) *remembered {
	a := &remembered{encoded: encoded, feasible: feasible}
	snapshot.Keep(key, a, int64(cap(encoded)))
	return a
}

// under makes an answer known under a request's form.
func (a *remembered) under(snapshot *decode.Cluster, form string) {
	// Loaded first, so that asking on does not make the number wrap.
	if form != "" && a.forms.Load() < maximumForms && a.forms.Add(1) <= maximumForms {
		snapshot.Keep(form, a, 0)
	}
}
