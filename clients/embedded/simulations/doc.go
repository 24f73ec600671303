// Package simulations has no code. It has the tests of package simulate and examples that put it behind the interfaces of other projects, all
// with an embedded server.
package simulations
