// Package identity authenticates and authorizes callers.
//
// An access file names callers and the methods that they may call. Callers are the subjects of verified client certificates, and the
// holders of tokens: tokens that the file lists by their hashes, tokens that an OpenID Connect issuer signed, and tokens that a
// Kubernetes API server reviews. A call that no rule allows is refused. Rules put callers into tenants: snapshots of one tenant do
// not exist for another.
package identity

import "context"

// Caller is an authenticated caller.
type Caller struct {
	// Name is the caller's first principal, for logs.
	Name string
	// Tenant owns the snapshots that the caller can see.
	Tenant string
	// MaxSnapshotBytes bounds the memory of the tenant's snapshots, 0 for no bound.
	MaxSnapshotBytes int64
}

type callerKey struct{}

// From returns the caller of a call, nil if the server knows no identities.
func From(ctx context.Context) *Caller {
	c, _ := ctx.Value(callerKey{}).(*Caller)
	return c
}

// Tenant returns the tenant of the caller, empty if the server knows no identities.
func Tenant(ctx context.Context) string {
	if c := From(ctx); c != nil {
		return c.Tenant
	}
	return ""
}
