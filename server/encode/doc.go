// Package encode turns the engine's results into responses in their wire form.
//
// Nodes are given by index, and by name as well if the caller asked for names. The functions share no state.
package encode
