// Package compact states a cluster in fewer bytes that mean the same: what many pods share as templates, what many nodes
// share as node classes.
//
// Its results are determined by what it is given, byte for byte once marshalled deterministically.
package compact
