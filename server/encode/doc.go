// Package encode encodes the engine's results as responses.
//
// A response lists nodes by index, with include_node_names also by name. The functions share no state.
package encode
