package ledger

import (
	"errors"

	"github.com/stowage-scheduler/stowage/server/rpcerror"
)

// Outside counts what a call over HTTP holds outside of gRPC: its body, what the body is decoded to, and its answer in JSON. It takes
// from the room of the same clients as calls over gRPC.
type Outside struct {
	ledger *Ledger
	client account
	parts  int64
	held   [Connections]counted
}

// Outside returns the count of a call. name is the name of the caller, or empty; host is the name of the connection's client.
func (l *Ledger) Outside(name, host string) *Outside {
	o := &Outside{ledger: l, client: accountOf(host), parts: 1}
	switch {
	case name != "":
		o.client = accountOf("client " + name)
	case l.settings.Name != nil:
		o.parts = strangerParts
	}
	return o
}

// Receive counts bytes of the request. It fails if the client holds too many, and if the request alone would.
func (o *Outside) Receive(bytes int64) error {
	most, err := o.take(Receiving, &o.ledger.receiving, bytes)
	if errors.Is(err, errAlone) {
		return rpcerror.BodyTooLarge(o.held[Receiving].bytes.Load()+bytes, most)
	}
	return err
}

// Answer counts bytes of the answer. It fails if the client holds too many, and if the answer alone would.
func (o *Outside) Answer(bytes int64) error {
	most, err := o.take(Unread, &o.ledger.unread, bytes)
	if errors.Is(err, errAlone) {
		return rpcerror.JSONTooLarge(o.held[Unread].bytes.Load()+bytes, most)
	}
	return err
}

// errAlone is why a call gets no bytes that has more than a client can have.
var errAlone = errors.New("the call alone is too large")

// take takes bytes, and returns how many a client can have.
func (o *Outside) take(k Kind, m *meter, bytes int64) (most int64, err error) {
	most = m.limit / (1 + o.parts)
	switch {
	case m.takeOf(o.client, bytes, o.parts):
		o.held[k].add(bytes)
		return most, nil
	case o.held[k].bytes.Load()+bytes > most:
		o.ledger.refusals[k].Add(1)
		return most, errAlone
	}
	return most, o.ledger.refused(k)
}

// Answered gives back the bytes of a part of the answer.
func (o *Outside) Answered(bytes int64) {
	o.ledger.unread.give(o.client, o.held[Unread].remove(bytes))
}

// Release gives back all bytes.
func (o *Outside) Release() {
	o.ledger.receiving.give(o.client, o.held[Receiving].end())
	o.ledger.unread.give(o.client, o.held[Unread].end())
}
