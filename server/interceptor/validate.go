package interceptor

import (
	"context"
	"errors"

	"buf.build/go/protovalidate"
	middleware "github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/protovalidate"
	"google.golang.org/grpc"
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

// validate rejects calls with an invalid envelope before their clusters are decoded. The error lists every problem of the
// envelope, as the decoder reports them.
func validate(v protovalidate.Validator) grpc.UnaryServerInterceptor {
	check := middleware.UnaryServerInterceptor(v)
	return func(ctx context.Context, r any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if _, ok := r.(proto.Message); !ok { // a cache hit: an equal request was validated before
			return handle(ctx, r)
		}
		valid := false
		response, err := check(ctx, r, info, func(ctx context.Context, r any) (any, error) {
			valid = true
			return handle(ctx, r)
		})
		if !valid {
			all, ok := errors.AsType[*decode.Error](decode.Envelope(r))
			if !ok { // the decoder says which field it is, with whatever else is wrong
				return handle(ctx, r)
			}
			err = rpcerror.Invalid(all)
		}
		return response, err
	}
}
