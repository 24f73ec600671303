package interceptor

import (
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
)

// Envelope refuses a request with an invalid envelope, before its cluster is decoded: the request's own fields and its profile. The
// error lists every problem of the envelope, as the decoder reports them.
func Envelope(r proto.Message) error {
	all, ok := errors.AsType[*decode.Error](decode.Envelope(r))
	if !ok {
		return nil
	}
	return rpcerror.Invalid(all)
}
