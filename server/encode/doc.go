// Package encode turns the engine's results into response messages.
//
// Nodes are given by index, and by name as well if the caller asked for names. The messages share the results' slices,
// so a result is encoded once and not used afterwards. The functions share no state.
package encode
