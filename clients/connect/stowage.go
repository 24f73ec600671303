package connect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/oauth2"
	"google.golang.org/grpc"
	"k8s.io/client-go/transport"

	"github.com/stowage-scheduler/stowage/clients/stowage"
	"github.com/stowage-scheduler/stowage/server/certificates"
)

// Stowage has the flags of the Stowage client.
type Stowage struct {
	StowageAddress    []string      `default:"127.0.0.1:7433" help:"Address of Stowage: one gRPC target, or several replicas. Repeat the flag, or separate by commas."`
	StowageCAFile     string        `name:"stowage-ca-file" help:"PEM certificates of the authorities of Stowage's certificate. Without it connections are plain text."`
	StowageCertFile   string        `help:"PEM client certificate for Stowage."`
	StowageKeyFile    string        `help:"PEM key of stowage-cert-file."`
	StowageTokenFile  string        `help:"File with a bearer token for Stowage, such as a projected token of a service account. It is read again each minute."`
	StowagePatience   time.Duration `default:"2s" help:"How long Stowage may be unreachable, for example during a restart, before calls fail."`
	StowageServerName string        `help:"Name in Stowage's certificate, if it is not the host of stowage-address."`
	StowageLineage    string        `help:"Name of the cluster. It selects stowage-owners of many replicas, and only these store the cluster. Without it calls go to all replicas."`
	StowageOwners     int           `default:"2" help:"Number of replicas for the calls about stowage-lineage."`
}

// Validate implements kong's validation.
func (s *Stowage) Validate() error {
	switch {
	case s.StowagePatience < 0:
		return fmt.Errorf("stowage-patience: must not be negative, is %v", s.StowagePatience)
	case s.StowageLineage != "" && (s.StowageOwners < 1 || s.StowageOwners > 100):
		return fmt.Errorf("stowage-owners: must be 1 to 100, is %d", s.StowageOwners)
	case len(s.StowageAddress) == 0:
		return errors.New("stowage-address: is empty")
	case (s.StowageCertFile == "") != (s.StowageKeyFile == ""):
		return errors.New("stowage-cert-file: must be set together with stowage-key-file")
	case s.StowageCAFile == "" && (s.StowageCertFile != "" || s.StowageServerName != ""):
		return errors.New("stowage-ca-file: is required for TLS")
	case s.StowageCAFile == "" && s.StowageTokenFile != "":
		return errors.New("stowage-token-file: needs stowage-ca-file, as tokens are not sent in plain text")
	}
	return nil
}

// Dial returns a client.
func (s *Stowage) Dial(log *slog.Logger, options ...grpc.DialOption) (*stowage.Client, error) {
	if s.StowageCAFile != "" {
		f, err := certificates.Read(log, s.StowageCertFile, s.StowageKeyFile, s.StowageCAFile)
		if err != nil {
			return nil, fmt.Errorf("stowage-ca-file, stowage-cert-file: %w", err)
		}
		options = append(options, grpc.WithTransportCredentials(f.Client(s.StowageServerName)))
	}
	if s.StowageTokenFile != "" {
		token := bearer{transport.NewCachedFileTokenSource(s.StowageTokenFile)}
		if _, err := token.Token(); err != nil {
			return nil, fmt.Errorf("stowage-token-file: %w", err)
		}
		options = append(options, grpc.WithPerRPCCredentials(token))
	}
	if s.StowageLineage != "" {
		options = append(options, stowage.WithOwners(s.StowageLineage, s.StowageOwners))
	}
	return stowage.Dial(s.StowageAddress, append(options, stowage.WithPatience(s.StowagePatience))...)
}

// bearer sends tokens, over TLS only. gRPC's own package for that depends on Google Cloud's.
type bearer struct{ oauth2.TokenSource }

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	token, err := b.Token()
	if err != nil {
		return nil, fmt.Errorf("stowage-token-file: %w", err)
	}
	return map[string]string{"authorization": "Bearer " + token.AccessToken}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (bearer) RequireTransportSecurity() bool { return true }
