package placement

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/grpc"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/count"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// Field numbers on the path to a cluster: context in a request, cluster in a DecisionContext, place in a
// PlaceStreamRequest, part in a PutSnapshotRequest and in a GetSnapshotResponse.
const (
	contextField = 1
	clusterField = 1
	placeField   = 1
	partField    = 1
)

// Register registers s as all its services with a server that uses wire.Codec. Handlers then decode clusters directly from the
// received frames.
func Register(to grpc.ServiceRegistrar, s *Service) {
	registerPlacement(to, s)
	registerSimulation(to, s)
}

func registerPlacement(to grpc.ServiceRegistrar, s *Service) {
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
		case "Preempt":
			m.Handler = unary[stowagev1.PreemptRequest](s, &preempt, stowagev1.PlacementService_Preempt_FullMethodName)
		case "ScaleDown":
			m.Handler = unary[stowagev1.ScaleDownRequest](s, &scaleDown, stowagev1.PlacementService_ScaleDown_FullMethodName)
		}
	}
	d.Streams = slices.Clone(d.Streams)
	for i := range d.Streams {
		st := &d.Streams[i]
		switch st.StreamName {
		case "PutSnapshot":
			table := count.Of(&stowagev1.PutSnapshotRequest{})
			st.Handler = func(_ any, stream grpc.ServerStream) error { return s.put(stream, table) }
		case "GetSnapshot":
			table := count.Of(&stowagev1.GetSnapshotRequest{})
			st.Handler = func(_ any, stream grpc.ServerStream) error { return s.receiveGet(stream, table) }
		case "PlaceStream":
			table := count.Of(&stowagev1.PlaceStreamRequest{})
			st.Handler = func(_ any, stream grpc.ServerStream) error { return s.receivePlaceStream(stream, table) }
		}
	}
	to.RegisterService(&d, s)
}

func registerSimulation(to grpc.ServiceRegistrar, s *Service) {
	d := stowagev1.SimulationService_ServiceDesc
	d.Methods = slices.Clone(d.Methods)
	for i := range d.Methods {
		m := &d.Methods[i]
		switch m.MethodName {
		case "Fit":
			m.Handler = unary[stowagev1.FitRequest](s, &fit, stowagev1.SimulationService_Fit_FullMethodName)
		case "Consolidate":
			m.Handler = unary[stowagev1.ConsolidateRequest](s, &consolidate, stowagev1.SimulationService_Consolidate_FullMethodName)
		case "Provision":
			m.Handler = unary[stowagev1.ProvisionRequest](s, &provision, stowagev1.SimulationService_Provision_FullMethodName)
		}
	}
	d.Streams = slices.Clone(d.Streams)
	for i := range d.Streams {
		st := &d.Streams[i]
		switch st.StreamName {
		case "WhatIf":
			st.Handler = inParts[stowagev1.WhatIfRequest](s, &whatIf)
		case "Drain":
			st.Handler = inParts[stowagev1.DrainRequest](s, &drain)
		}
	}
	to.RegisterService(&d, s)
}

// decodeError returns the field violations of a request that could not be decoded, or the status of a request that was refused. It
// returns fallback for other errors.
func decodeError(err, fallback error) error {
	if invalid, ok := errors.AsType[*decode.Error](err); ok {
		return invalid
	}
	if _, ok := errors.AsType[*rpcerror.Error](err); ok || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fallback
}

// unary returns a handler that receives a request and decodes it behind the interceptors, which see the *wire.Request. They see the
// response encoded.
func unary[T any, M interface {
	*T
	request
}, C, R any](s *Service, m *method[M, C, R], fullName string) grpc.MethodHandler {
	table := count.Of(M(new(T)))
	return func(service any, ctx context.Context, receive func(any) error, through grpc.UnaryServerInterceptor) (any, error) {
		message := M(new(T))
		in := wire.NewRequest(message, contextField, clusterField)
		if err := receive(in); err != nil {
			return nil, err
		}
		defer in.Free()
		handle := func(ctx context.Context, _ any) (any, error) {
			encoded, err := answerTo(ctx, s, m, table, message, in)
			if err != nil {
				return nil, err
			}
			return encoded, nil
		}
		if through == nil {
			return handle(ctx, in)
		}
		return through(ctx, in, &grpc.UnaryServerInfo{Server: service, FullMethod: fullName}, handle)
	}
}

// answerTo decodes a request and returns its encoded response.
func answerTo[M request, C, R any](
	ctx context.Context, s *Service, m *method[M, C, R], table *count.Table, message M, in *wire.Request,
) (wire.Encoded, error) {
	var hit lookup
	frames := in.Pieces()
	atOnce := m.cached && len(frames) == 1 && len(frames[0]) <= smallBytes // as almost all are whose answers are remembered
	if atOnce {
		if hit = s.lookup(ctx, frames[0], m.name); hit.response != nil {
			return s.serveCached(ctx, m.name, hit.snapshot, hit.response), nil
		}
	}
	return computeAnswer(ctx, s, m, table, message, in, hit, atOnce)
}

// computeAnswer is answerTo for a request without a cached answer. hit is the result of the look-up, if there was one.
func computeAnswer[M request, C, R any](
	ctx context.Context, s *Service, m *method[M, C, R], table *count.Table, message M, in *wire.Request, hit lookup, lookedUp bool,
) (wire.Encoded, error) {
	t := s.turn(ctx, m.class)
	defer t.end()
	timing := s.startTimer(m.name)
	// A large request is counted before its cluster is cut out, a small one only if its answer is not remembered.
	large := in.Len() > smallBytes
	if large {
		if err := t.arrive(in, table); err != nil {
			return nil, statusOf(err)
		}
	}
	var ask requestParts
	in.Read = func(rest []byte) (err error) {
		if in.Cluster == nil && m.cached && !lookedUp {
			if hit = s.lookup(t.ctx, rest, m.name); hit.response != nil {
				return nil
			}
		}
		if !large {
			if err := t.weigh(in, table); err != nil {
				return err
			}
		}
		ask.rawKey, ask.bytes = hit.rawKey, len(rest)
		ask.pods, err = m.unmarshal(rest, message)
		return err
	}
	if err := in.Decode(); err != nil {
		return nil, statusOf(decodeError(err, decode.ErrNoMessage))
	}
	if hit.response != nil {
		return s.serveCached(ctx, m.name, hit.snapshot, hit.response), nil
	}
	if s.envelope != nil {
		if err := s.envelope(message); err != nil {
			return nil, err
		}
	}
	return respond(s, m, t, timing, message, fromFrames(in), ask)
}

// inParts returns a handler that receives one request, leaves its cluster in the frames, and sends the responses encoded.
func inParts[T any, M interface {
	*T
	request
}, C any](s *Service, m *streamed[M, C]) grpc.StreamHandler {
	table := count.Of(M(new(T)))
	return func(_ any, to grpc.ServerStream) error {
		message := M(new(T))
		in := wire.NewRequest(message, contextField, clusterField)
		if err := to.RecvMsg(in); err != nil {
			return err
		}
		defer in.Free()
		t := s.turn(to.Context(), m.class)
		defer t.end()
		timing := s.startTimer(m.name)
		var ask requestParts
		in.Read = func(rest []byte) (err error) {
			ask.bytes = len(rest)
			ask.pods, err = m.unmarshal(rest, message)
			return err
		}
		if err := t.decode(in, table, decode.ErrNoMessage); err != nil {
			return statusOf(err)
		}
		send := func(part wire.Encoded) error { return to.SendMsg(part) }
		return statusOf(respondInParts(s, m, t, timing, message, fromFrames(in), ask, send))
	}
}

// fromFrames reads the inline cluster of a request from its frames.
func fromFrames(in *wire.Request) *inlineCluster {
	if in.Cluster == nil {
		return nil
	}
	return &inlineCluster{in.Cluster.Len(), func(r *decode.Request) { r.Part("context.cluster", in.Cluster) }}
}
