package placement

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/grpc"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// Field numbers on the way to a cluster: those of context in a request, of cluster in a DecisionContext, of place in a
// PlaceStreamRequest, of part in a PutSnapshotRequest.
const (
	contextField = 1
	clusterField = 1
	placeField   = 1
	partField    = 1
)

// Register makes a server that has a wire.Codec serve s, which then decodes clusters straight from the frames.
func Register(to grpc.ServiceRegistrar, s *Service) {
	d := stowagev1.PlacementService_ServiceDesc
	d.Methods = slices.Clone(d.Methods)
	for i := range d.Methods {
		m := &d.Methods[i]
		switch m.MethodName {
		case "Filter":
			m.Handler = unary[stowagev1.FilterRequest](s, &filter, stowagev1.PlacementService_Filter_FullMethodName)
		case "Score":
			m.Handler = unary[stowagev1.ScoreRequest](s, &score, stowagev1.PlacementService_Score_FullMethodName)
		case "Place":
			m.Handler = unary[stowagev1.PlaceRequest](s, &place, stowagev1.PlacementService_Place_FullMethodName)
		case "ScaleDown":
			m.Handler = unary[stowagev1.ScaleDownRequest](s, &scaleDown, stowagev1.PlacementService_ScaleDown_FullMethodName)
		}
	}
	d.Streams = slices.Clone(d.Streams)
	for i := range d.Streams {
		st := &d.Streams[i]
		switch st.StreamName {
		case "PutSnapshot":
			st.Handler = func(_ any, stream grpc.ServerStream) error { return s.put(stream) }
		case "PlaceStream":
			st.Handler = func(_ any, stream grpc.ServerStream) error { return s.placeStreamOn(stream) }
		}
	}
	to.RegisterService(&d, s)
}

// refusal is what is said of a request that could not be decoded: which field is wrong, where that is known.
func refusal(err, otherwise error) error {
	if wrong, ok := errors.AsType[*decode.Error](err); ok {
		return wrong
	}
	return otherwise
}

// unary receives a request's cluster in its frames. Interceptors see the request without it, and perhaps with an empty pod
// in place of the one it asks about; or in its place the answer that it got before, or what is none; and the answer encoded.
func unary[T any, M interface {
	*T
	request
}, C, R any](s *Service, m *method[M, C, R], fullName string) grpc.MethodHandler {
	return func(service any, ctx context.Context, receive func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		message := M(new(T))
		in := wire.NewRequest(message, contextField, clusterField)
		var asked asked
		var pod *decode.Asked
		in.Read = func(rest []byte) (err error) {
			if in.Cluster == nil && m.remembers {
				if asked = s.asked(rest, m.name); asked.before != nil {
					return nil
				}
			}
			pod, err = m.unmarshal(rest, message)
			return err
		}
		if err := receive(in); err != nil {
			return nil, err
		}
		defer in.Free()
		var request any = message
		switch {
		case in.Err() != nil:
			request = in
		case asked.before != nil:
			request = asked.before
		}
		handle := func(ctx context.Context, _ any) (any, error) {
			if in.Err() != nil {
				return nil, answerTo(refusal(in.Err(), decode.ErrNoMessage))
			}
			if asked.before != nil {
				return s.again(ctx, m.name, asked.snapshot, asked.before), nil
			}
			return answer(ctx, s, m, message, inFrames(in), pod, asked.form)
		}
		if interceptor == nil {
			return handle(ctx, request)
		}
		return interceptor(ctx, request, &grpc.UnaryServerInfo{Server: service, FullMethod: fullName}, handle)
	}
}

// inFrames decodes a request's cluster from its frames.
func inFrames(in *wire.Request) inline {
	if in.Cluster == nil {
		return nil
	}
	return func(r *decode.Request) { r.Part("context.cluster", in.Cluster) }
}
