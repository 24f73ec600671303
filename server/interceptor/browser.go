//go:build js

package interceptor

import (
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
)

// Envelope is Envelope of other builds without the annotations' interpreter, which is a sixth of the program: the decoder reports the same
// problems, and reads a valid envelope twice.
func Envelope() func(proto.Message) error {
	return func(r proto.Message) error {
		if all, ok := errors.AsType[*decode.Error](decode.Envelope(r)); ok {
			return rpcerror.Invalid(all)
		}
		return nil
	}
}
