package cli

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/clients/stowage"
)

// remote has the flags of a server. The flags of TLS are as in the other commands.
type remote struct {
	Server            []string `local:"" placeholder:"ADDRESS" help:"Address of a server, host:port. Repeat it for replicas. Default: this process decides."`
	StowageCAFile     string   `local:"" name:"stowage-ca-file" placeholder:"FILE" help:"With --server: PEM file with the authorities that sign the server's certificate. Without it, connections are not encrypted."`
	StowageCertFile   string   `local:"" placeholder:"FILE" help:"With --server: PEM file with the client certificate."`
	StowageKeyFile    string   `local:"" placeholder:"FILE" help:"With --server: PEM file with the key of --stowage-cert-file."`
	StowageTokenFile  string   `local:"" placeholder:"FILE" help:"With --server: file with a bearer token."`
	StowageServerName string   `local:"" placeholder:"NAME" help:"With --server: name in the server's certificate, if it differs from the host of --server."`
}

// check refuses flags that do not go together. kong calls only one of several Validate methods of a command.
func (r *remote) check() error {
	if len(r.Server) > 0 {
		return r.validate()
	}
	if r.StowageCAFile+r.StowageCertFile+r.StowageKeyFile+r.StowageServerName+r.StowageTokenFile != "" {
		return errors.New("the flags of TLS and tokens need --server")
	}
	return nil
}

// dial returns a client of the given servers, or of a server inside the process.
func (r *remote) dial(s *session) (*stowage.Client, func(), error) {
	if s.given != nil {
		return s.given.client, func() {}, nil
	}
	return r.open(s)
}

// hints say what to do about texts in errors of connections.
var hints = []struct{ text, hint string }{
	{"first record does not look like a TLS handshake", "the server speaks plain text: leave out --stowage-ca-file"},
	{"certificate signed by unknown authority", "--stowage-ca-file has to hold the authority of the server's certificate"},
	{"certificate is valid for", "--stowage-server-name is the name to expect in it"},
	{"because it doesn't contain any IP SANs", "--stowage-server-name is the name to expect in it"},
	{"certificate required", "the server asks for --stowage-cert-file and --stowage-key-file"},
	{"bad certificate", "the server does not accept the certificate of --stowage-cert-file"},
	{"error reading server preface", "if the server speaks TLS, --stowage-ca-file is needed"},
	{"no such host", "the name of --server is not known"},
	{"produced zero addresses", "the name of --server is not known"},
	{"connection refused", "nothing listens there"},
}

// hint returns what to do about an error of a connection, empty if nothing is known.
func (r *remote) hint(text string) string {
	closed := strings.Contains(text, "broken pipe") || strings.Contains(text, "connection reset")
	if closed && r.StowageCAFile != "" && r.StowageCertFile == "" { // its alert is lost if the client still writes
		return "the server may ask for --stowage-cert-file and --stowage-key-file"
	}
	for _, h := range hints {
		if strings.Contains(text, h.text) {
			return h.hint
		}
	}
	return ""
}

// explained says which server an error is of and what may be wrong. It replaces the words of gRPC.
func (r *remote) explained(err error) error {
	s, ok := status.FromError(err)
	if !ok || len(r.Server) == 0 {
		return err
	}
	text := s.Message()
	for _, of := range []string{"connection error: desc = ", "last connection error: "} {
		if _, cause, found := strings.Cut(text, of); found {
			text = strings.Trim(cause, `"`)
		}
	}
	text = strings.TrimPrefix(strings.ReplaceAll(text, `\"`, `"`), "transport: ")
	if hint := r.hint(text); hint != "" {
		text += " (" + hint + ")"
	}
	if s.Code() != codes.Unavailable {
		text = s.Code().String() + ": " + text
	}
	return &serverError{fmt.Sprintf("server %s: %s", strings.Join(r.Server, ", "), text), err}
}

// serverError is an error of a server, in other words than gRPC's.
type serverError struct {
	text string
	err  error
}

func (e *serverError) Error() string { return e.text }

// Unwrap returns gRPC's error.
func (e *serverError) Unwrap() error { return e.err }
