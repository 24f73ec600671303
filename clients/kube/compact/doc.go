// Package compact encodes a cluster in fewer bytes with the same meaning: pods share templates, and nodes share node
// classes.
//
// The result depends on the input alone, byte for byte once marshalled deterministically.
package compact
