package interceptor

import (
	"errors"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
)

// envelope validates the protovalidate annotations of a request's envelope: the request's own fields and its profile. It
// skips clusters, references to snapshots, pods, queues and groups: the decoder checks those, and validating them takes longer
// than decoding them.
type envelope struct {
	protovalidate.Validator
	filter protovalidate.ValidationOption
}

// Validate implements protovalidate.Validator.
func (e envelope) Validate(m proto.Message, options ...protovalidate.ValidationOption) error {
	return e.Validator.Validate(m, append(options, e.filter)...)
}

// newEnvelope panics if the contract's annotations do not compile.
func newEnvelope() protovalidate.Validator {
	v, err := protovalidate.New(protovalidate.WithMessages(
		&stowagev1.FilterRequest{}, &stowagev1.ScoreRequest{}, &stowagev1.PlaceRequest{}, &stowagev1.PreemptRequest{},
		&stowagev1.ScaleDownRequest{}, &stowagev1.FitRequest{}, &stowagev1.ProvisionRequest{},
		&stowagev1.ConsolidateRequest{}))
	if err != nil {
		panic(err)
	}
	bulk := map[protoreflect.FullName]bool{}
	for _, m := range []proto.Message{
		&stowagev1.Cluster{}, &stowagev1.Pod{}, &stowagev1.PendingPods{}, &stowagev1.PodGroup{}, &stowagev1.ClusterDelta{},
		&stowagev1.FitPod{}, &stowagev1.SnapshotReference{}, &stowagev1.NodeTemplate{}, &stowagev1.PricedNodes{},
	} {
		bulk[m.ProtoReflect().Descriptor().FullName()] = true
	}
	return envelope{v, protovalidate.WithFilter(protovalidate.FilterFunc(
		func(in protoreflect.Message, d protoreflect.Descriptor) bool {
			if field, ok := d.(protoreflect.FieldDescriptor); ok && field.IsList() && field.Message() != nil {
				return !bulk[field.Message().FullName()] && !bulk[in.Descriptor().FullName()]
			}
			return !bulk[in.Descriptor().FullName()]
		}))}
}

// Envelope returns what refuses a request with an invalid envelope, before its cluster is decoded. The error lists every problem of the
// envelope, as the decoder reports them.
func Envelope() func(proto.Message) error {
	v := newEnvelope()
	return func(r proto.Message) error {
		if v.Validate(r) == nil {
			return nil
		}
		all, ok := errors.AsType[*decode.Error](decode.Envelope(r))
		if !ok { // the decoder says which field it is, with whatever else is wrong
			return nil
		}
		return rpcerror.Invalid(all)
	}
}
