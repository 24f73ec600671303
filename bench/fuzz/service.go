package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/placement"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// method is an RPC about a cluster.
type method struct {
	name    string
	request proto.Message
	// within is the field whose message has the context, nil if the request has it.
	within protoreflect.FieldDescriptor
	// unordered says whether the parts of the answer come in any order.
	unordered func(proto.Message) bool
	response  proto.Message
}

var methods = []*method{
	{name: "Filter", request: new(stowagev1.FilterRequest), response: new(stowagev1.FilterResponse)},
	{name: "Score", request: new(stowagev1.ScoreRequest), response: new(stowagev1.ScoreResponse)},
	{name: "Place", request: new(stowagev1.PlaceRequest), response: new(stowagev1.PlaceResponse)},
	{name: "Preempt", request: new(stowagev1.PreemptRequest), response: new(stowagev1.PreemptResponse)},
	{name: "ScaleDown", request: new(stowagev1.ScaleDownRequest), response: new(stowagev1.ScaleDownResponse)},
	{name: "Fit", request: new(stowagev1.FitRequest), response: new(stowagev1.FitResponse)},
	{name: "Provision", request: new(stowagev1.ProvisionRequest), response: new(stowagev1.ProvisionResponse)},
	{name: "Consolidate", request: new(stowagev1.ConsolidateRequest), response: new(stowagev1.ConsolidateResponse)},
	{name: "Drain", request: new(stowagev1.DrainRequest), response: new(stowagev1.DrainResponse)},
	{
		name: "WhatIf", request: new(stowagev1.WhatIfRequest), response: new(stowagev1.WhatIfResponse),
		unordered: func(m proto.Message) bool { return m.(*stowagev1.WhatIfRequest).Unordered },
	},
	{
		name: "PlaceStream", request: new(stowagev1.PlaceStreamRequest), response: new(stowagev1.PlaceStreamResponse),
		within: new(stowagev1.PlaceStreamRequest).ProtoReflect().Descriptor().Fields().ByName("place"),
	},
}

// context returns the context of a request, nil if it has none.
func (m *method) context(request proto.Message) *stowagev1.DecisionContext {
	of := request.ProtoReflect()
	if m.within != nil {
		if of = of.Get(m.within).Message(); !of.IsValid() {
			return nil
		}
	}
	return of.Interface().(interface {
		GetContext() *stowagev1.DecisionContext
	}).GetContext()
}

// service is a server without its transport: the handlers that read clusters from frames, and the generated ones, which get
// messages.
type service struct {
	implementation *placement.Service
	frames         handlers
	messages       handlers
}

type handlers struct {
	unary   map[string]grpc.MethodHandler
	streams map[string]grpc.StreamHandler
	// change changes an answer to a method, for tests; nil for none.
	change func(method string, a *answer)
}

// RegisterService implements grpc.ServiceRegistrar.
func (h *handlers) RegisterService(d *grpc.ServiceDesc, _ any) {
	if h.unary == nil {
		h.unary, h.streams = make(map[string]grpc.MethodHandler), make(map[string]grpc.StreamHandler)
	}
	for _, m := range d.Methods {
		h.unary[m.MethodName] = m.Handler
	}
	for _, s := range d.Streams {
		h.streams[s.StreamName] = s.Handler
	}
}

// snapshotBytes is room for the snapshots of a few cases, so that snapshots are evicted all the time, but not between two calls of
// a case.
const snapshotBytes = 64 << 20

func newService() *service {
	s := &service{implementation: placement.New(snapshotBytes, nil)}
	placement.Register(&s.frames, s.implementation)
	stowagev1.RegisterPlacementServiceServer(&s.messages, s.implementation)
	stowagev1.RegisterSimulationServiceServer(&s.messages, s.implementation)
	return s
}

// answer is what a call returned: the parts of a response, or an error.
type answer struct {
	parts [][]byte
	err   *status.Status
}

var codec = wire.NewCodec()

// call calls a method with encoded requests. It overwrites the requests' frames after the call, as a transport does that uses
// them again.
func (h *handlers) call(ctx context.Context, s *service, name string, requests ...mem.BufferSlice) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			a.err = status.Newf(codes.Internal, "panic: %v\n%s", p, debug.Stack())
		}
	}()
	defer func() {
		for _, frames := range requests {
			for _, f := range frames {
				b := f.ReadOnlyData()
				for i := range b {
					b[i] = 0xaa
				}
			}
		}
	}()
	stream := &stream{ctx: ctx, in: requests}
	var err error
	if unary := h.unary[name]; unary != nil {
		var out any
		out, err = unary(s.implementation, ctx, stream.RecvMsg, nil)
		if err == nil {
			err = stream.SendMsg(out)
		}
	} else if handle := h.streams[name]; handle != nil {
		err = handle(s.implementation, stream)
	} else {
		err = fmt.Errorf("there is no %s", name)
	}
	if err != nil {
		return answer{err: status.Convert(err)}
	}
	a = answer{parts: stream.out}
	if h.change != nil {
		h.change(name, &a)
	}
	return a
}

// stream is the server's side of a call.
type stream struct {
	ctx context.Context
	in  []mem.BufferSlice
	out [][]byte
}

func (s *stream) RecvMsg(into any) error {
	if len(s.in) == 0 {
		return io.EOF
	}
	next := s.in[0]
	s.in = s.in[1:]
	return codec.Unmarshal(next, into)
}

func (s *stream) SendMsg(m any) error {
	frames, err := codec.Marshal(m)
	if err != nil {
		return err
	}
	s.out = append(s.out, frames.Materialize())
	frames.Free()
	return nil
}

func (s *stream) Context() context.Context { return s.ctx }

var errNoHeader = errors.New("handlers set no headers")

func (s *stream) SetHeader(metadata.MD) error  { return errNoHeader }
func (s *stream) SendHeader(metadata.MD) error { return errNoHeader }
func (s *stream) SetTrailer(metadata.MD)       {}
