// Package server runs the PlacementService and the SimulationService: listeners, interceptors, limits, telemetry, startup and
// shutdown.
//
// Request path: the gate of package admission refuses calls when the server is too far behind, the in-flight limit counts the
// request's bytes, the interceptor chain admits the call, package placement decodes the request, waits for its turn to compute,
// calls the engine and encodes the response. Requests share only immutable values and atomics; requests that have to wait for their
// turn share a lock.
//
// Shutdown order: report NOT_SERVING and keep serving for DrainDelay, so that load balancers take the server out of
// rotation; stop accepting calls and wait up to ShutdownGracePeriod for calls in progress; cancel the remaining calls;
// flush telemetry.
//
// gRPC itself rejects a request above MaxReceiveMessageBytes before the interceptors run, with RESOURCE_EXHAUSTED and no
// error details.
package server
