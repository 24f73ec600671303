// Package stowage is the client of a Stowage server.
//
// Dial gives a connection set up for the service: calls go to every replica in turn, replicas that are not serving are
// left out, what a replica could not answer is tried on another, and a server that is too busy is given the time that
// it asks for. Every answer is a function of its request alone, so trying again is always safe.
//
// Details reads what an error says beyond its code.
//
// A Client is safe for concurrent use.
package stowage
