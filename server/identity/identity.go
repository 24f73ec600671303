// Package identity authenticates and authorizes callers.
//
// An access file names callers and the methods that they may call. Callers are the subjects of verified client certificates, and the
// holders of tokens: tokens that the file lists by their hashes, tokens that an OpenID Connect issuer signed, and tokens that a
// Kubernetes API server reviews. A call that no rule allows is refused. Rules put callers into tenants: snapshots of one tenant do
// not exist for another.
package identity

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync/atomic"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/auth"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/stowage-scheduler/stowage/server/admission"
	"github.com/stowage-scheduler/stowage/server/caller"
	"github.com/stowage-scheduler/stowage/server/certificates"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
)

// Reviewer verifies tokens that the access file does not list. It returns the principals of a token's holder, none if the token is
// invalid, or an error if it cannot verify the token. Recall returns the principals of a remembered review, none without one.
type Reviewer interface {
	Review(ctx context.Context, token string) (principals []string, err error)
	Recall(token string) (principals []string)
}

// Access decides about calls by the current rules. It is safe for concurrent use and holds no locks.
type Access struct {
	rules    atomic.Pointer[Rules]
	reviewer Reviewer // nil for none
}

// New returns an Access with rules. reviewer is nil for none.
func New(r *Rules, reviewer Reviewer) *Access {
	a := &Access{reviewer: reviewer}
	a.rules.Store(r)
	return a
}

// Replace replaces the rules. It does not affect calls that have begun.
func (a *Access) Replace(r *Rules) { a.rules.Store(r) }

// Admit returns the context of a call, with the caller, or the error of a refused call. method is the full name of the method.
func (a *Access) Admit(ctx context.Context, method string) (context.Context, error) {
	if open(method) || inside(ctx) {
		return ctx, nil
	}
	rules := a.rules.Load()
	c, err := a.caller(ctx, rules, method)
	if err != nil {
		return nil, err
	}
	tenant := c.Tenant
	if q := rules.quotas[tenant]; q != nil {
		c.MaxSnapshotBytes = int64(q.MaxSnapshotBytes)
		if q.calls != nil {
			if wait := q.calls.Admit(); wait > 0 {
				return nil, rpcerror.QuotaExceeded(tenant, q.CallsPerSecond, wait)
			}
		}
	}
	return admission.WithClient(caller.With(ctx, c), c.Name), nil
}

// Caller returns the caller of a call that the rules allow, or the error of a refused call. It counts no call of a quota.
func (a *Access) Caller(ctx context.Context, method string) (*caller.Caller, error) {
	return a.caller(ctx, a.rules.Load(), method)
}

func (a *Access) caller(ctx context.Context, rules *Rules, method string) (*caller.Caller, error) {
	principals, err := a.principals(ctx, rules, func(r Reviewer, token string) ([]string, error) { return r.Review(ctx, token) })
	if err != nil {
		return nil, err
	}
	tenant, known, may := rules.decide(principals, short(method))
	c := &caller.Caller{Name: principals[0], Tenant: tenant}
	switch {
	case !known:
		return nil, rpcerror.Forbidden(c.Name, "")
	case !may:
		return nil, rpcerror.Forbidden(c.Name, short(method))
	}
	return c, nil
}

// Known returns the name of a caller whose credentials are known without a review, otherwise an empty name.
func (a *Access) Known(ctx context.Context) string {
	principals, err := a.principals(ctx, a.rules.Load(), func(r Reviewer, token string) ([]string, error) { return r.Recall(token), nil })
	if err != nil {
		return ""
	}
	return principals[0]
}

// principals returns the principals of a caller. The rules or a review map a token to principals. A certificate does not help a
// caller whose token is invalid.
func (a *Access) principals(
	ctx context.Context, rules *Rules, review func(r Reviewer, token string) ([]string, error),
) ([]string, error) {
	if len(metadata.ValueFromIncomingContext(ctx, "authorization")) > 0 {
		token, err := auth.AuthFromMD(ctx, "bearer")
		if err != nil || token == "" {
			return nil, rpcerror.Unauthenticated("the authorization header has no bearer token")
		}
		hash := sha256.Sum256([]byte(token))
		if name, ok := rules.tokens[hex.EncodeToString(hash[:])]; ok {
			return []string{"token:" + name}, nil
		}
		reviewer := a.reviewer
		if len(rules.issuers) > 0 {
			if issuer := rules.issuers[issuerOf(token)]; issuer != nil {
				reviewer = issuer
			}
		}
		if reviewer == nil {
			return nil, rpcerror.Unauthenticated("the token is not valid")
		}
		principals, err := review(reviewer, token)
		switch {
		case err != nil:
			return nil, rpcerror.CannotAuthenticate(err)
		case len(principals) == 0:
			return nil, rpcerror.Unauthenticated("the token is not valid")
		}
		return principals, nil
	}
	if p, ok := peer.FromContext(ctx); ok {
		if certified, ok := p.AuthInfo.(*Certified); ok {
			return certified.principals, nil
		}
	}
	return nil, rpcerror.Unauthenticated("a client certificate or a bearer token is needed")
}

// Certified is the AuthInfo of a connection whose caller has a verified certificate. Names are made once, not for each call.
type Certified struct {
	credentials.TLSInfo
	principals []string
}

// OfConnection returns the AuthInfo of a connection: Certified, or info if there is no verified certificate.
func OfConnection(info credentials.AuthInfo) credentials.AuthInfo {
	tls, ok := info.(credentials.TLSInfo)
	if !ok || len(tls.State.VerifiedChains) == 0 {
		return info
	}
	return &Certified{tls, certificates.Names(tls.State.VerifiedChains[0][0])}
}

// Client implements admission.Named.
func (c *Certified) Client() string { return c.principals[0] }

// open reports whether anybody may call a method: health, which probes ask for.
func open(method string) bool { return strings.HasPrefix(method, "/grpc.health.") }

// inside reports whether a call comes from the server itself.
func inside(ctx context.Context) bool {
	p, ok := peer.FromContext(ctx)
	return ok && p.Addr != nil && p.Addr.Network() == "bufconn"
}

// short returns the last part of a method's full name. Reflection's is Reflection.
func short(method string) string {
	if strings.HasPrefix(method, "/grpc.reflection.") {
		return "Reflection"
	}
	return method[strings.LastIndexByte(method, '/')+1:]
}
