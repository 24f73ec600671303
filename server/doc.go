// Package server runs the PlacementService: listeners, interceptors, limits, telemetry, and the order in which it all
// starts and stops.
//
// The way of a request: the in-flight limit counts its bytes and the interceptors judge the call; package placement
// decodes it, asks the engine and encodes the answer. Requests share nothing but immutable values and atomic numbers.
//
// A server that stops first says that it is not ready and goes on serving for a while, so that load balancers notice;
// then it takes no more calls and lets those in progress finish, for a while; then it ends them. Telemetry goes last,
// with what the calls reported.
//
// A request that is larger than the largest message is refused by gRPC itself before the interceptors see it, with
// RESOURCE_EXHAUSTED and without details.
package server
