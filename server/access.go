package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/auth"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/stowage-scheduler/stowage/server/admission"
	"github.com/stowage-scheduler/stowage/server/config"
	"github.com/stowage-scheduler/stowage/server/identity"
)

// lookForRules is how often the access file is read.
const lookForRules = time.Second

// access admits calls by an access file. A nil access admits all.
type access struct {
	*identity.Access
	kubernetes *identity.Kubernetes // nil if no tokens are reviewed
	path       string
	text       []byte
	log        *slog.Logger
}

// readAccess reads the access file. It returns nil for none.
func readAccess(c *config.Config, log *slog.Logger) (*access, error) {
	if c.AccessFile == "" {
		return nil, nil
	}
	text, rules, err := readRules(c.AccessFile)
	if err != nil {
		return nil, err
	}
	a := &access{path: c.AccessFile, text: text, log: log}
	var reviewer identity.Reviewer
	if c.TokenReviewURL != "" {
		a.kubernetes, err = identity.NewKubernetes(c.TokenReviewURL, c.TokenReviewCAFile, c.TokenReviewTokenFile, c.TokenReviewAudiences)
		if err != nil {
			return nil, fmt.Errorf("token-review-ca-file, token-review-token-file: %w", err)
		}
		reviewer = a.kubernetes
	}
	a.Access = identity.New(rules, reviewer)
	return a, nil
}

func readRules(path string) ([]byte, *identity.Rules, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("access-file: %w", err)
	}
	rules, err := identity.ParseRules(text)
	if err != nil {
		return nil, nil, fmt.Errorf("access-file: %s: %w", path, err)
	}
	return text, rules, nil
}

// follow replaces the rules when the file changes, until the context ends. A file that is invalid changes nothing.
func (a *access) follow(ctx context.Context) {
	if a.kubernetes != nil {
		defer a.kubernetes.Close()
	}
	tick := time.NewTicker(lookForRules)
	defer tick.Stop()
	failed := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if text, err := os.ReadFile(a.path); err == nil && bytes.Equal(text, a.text) {
			failed = false
			continue
		}
		text, rules, err := readRules(a.path)
		switch {
		case err != nil && !failed:
			a.log.Error("cannot reload the access file; keeping the previous rules", "error", err)
		case err == nil:
			a.text = text
			a.Replace(rules)
			a.log.Info("access file reloaded", "access_file", a.path)
		}
		failed = err != nil
	}
}

// admit admits a call and logs a refusal.
func (a *access) admit(ctx context.Context, method string) (context.Context, error) {
	admitted, err := a.Admit(ctx, method)
	if err != nil {
		a.refused(ctx, method, err)
		return nil, err
	}
	return admitted, nil
}

// nameOf returns the name of a caller who may call a method. A call over HTTP is checked before its body is read, which is before the
// gRPC server admits it.
func (a *access) nameOf(ctx context.Context, method string) (string, error) {
	caller, err := a.Caller(ctx, method)
	if err != nil {
		a.refused(ctx, method, err)
		return "", err
	}
	return caller.Name, nil
}

// refused logs a refusal.
func (a *access) refused(ctx context.Context, method string, err error) {
	fields := []any{"grpc.method", method, "grpc.code", status.Code(err).String(), "reason", status.Convert(err).Message()}
	if p, ok := peer.FromContext(ctx); ok {
		fields = append(fields, "peer.address", p.Addr.String())
	}
	if cause := errors.Unwrap(err); cause != nil {
		fields = append(fields, "cause", cause.Error())
	}
	a.log.WarnContext(ctx, "refused call", fields...)
}

// name is a tap.ServerInHandle: it names the caller of a call if that is known before the call is admitted. What counts by client when
// headers arrive then counts for the caller, whatever host it shares.
func (a *access) name(ctx context.Context, _ *tap.Info) (context.Context, error) {
	if name := a.Known(ctx); name != "" {
		ctx = admission.WithClient(ctx, name)
	}
	return ctx, nil
}

// streams admits calls of streams, before any message is received.
func (a *access) streams() grpc.StreamServerInterceptor {
	return func(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		return auth.StreamServerInterceptor(func(ctx context.Context) (context.Context, error) {
			return a.admit(ctx, info.FullMethod)
		})(service, stream, info, handle)
	}
}

// guardedRegistrar registers services whose unary calls are admitted before their requests are received: gRPC's interceptors see a
// call only when its request has been received and decoded.
type guardedRegistrar struct {
	grpc.ServiceRegistrar
	access *access
}

// RegisterService implements grpc.ServiceRegistrar.
func (g guardedRegistrar) RegisterService(d *grpc.ServiceDesc, service any) {
	if g.access != nil {
		d = new(*d)
		d.Methods = slices.Clone(d.Methods)
		for i := range d.Methods {
			m := &d.Methods[i]
			handle, method := m.Handler, "/"+d.ServiceName+"/"+m.MethodName
			m.Handler = func(
				service any, ctx context.Context, receive func(any) error, interceptor grpc.UnaryServerInterceptor,
			) (any, error) {
				ctx, err := g.access.admit(ctx, method)
				if err != nil {
					return nil, err
				}
				return handle(service, ctx, receive, interceptor)
			}
		}
	}
	g.ServiceRegistrar.RegisterService(d, service)
}
