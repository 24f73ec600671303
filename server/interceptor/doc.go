// Package interceptor is what every call passes on its way to the service: a named chain, whose order Chain fixes.
//
// Health checks and reflection pass the outer recovery only: they are neither logged nor limited, so that an overloaded
// server still tells how it is. Everything is safe for concurrent use; what calls share are single atomic numbers.
package interceptor
