// Package caller knows who calls: identity authenticates the caller, and a call's context carries it.
package caller

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

type key struct{}

// With returns the context of a call of a caller.
func With(ctx context.Context, c *Caller) context.Context { return context.WithValue(ctx, key{}, c) }

// From returns the caller of a call, nil if the server knows no identities.
func From(ctx context.Context) *Caller {
	c, _ := ctx.Value(key{}).(*Caller)
	return c
}

// Tenant returns the tenant of the caller, empty if the server knows no identities.
func Tenant(ctx context.Context) string {
	if c := From(ctx); c != nil {
		return c.Tenant
	}
	return ""
}
