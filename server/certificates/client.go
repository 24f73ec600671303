package certificates

import (
	"context"
	"crypto/tls"
	"net"

	"google.golang.org/grpc/credentials"
)

// Client returns the credentials of a client with the certificate. Servers are verified by the authorities, or by the system's
// authorities if there are none. Servers must have a certificate for the server name, or for the dialled name if it is empty. Each
// handshake uses the current content of the files.
func (f *Files) Client(serverName string) credentials.TransportCredentials {
	return &client{f.fixed(serverName), f, serverName}
}

func (f *Files) fixed(serverName string) credentials.TransportCredentials {
	now := f.Current()
	return credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: serverName, Certificates: now.Certificates, RootCAs: now.Authorities,
	})
}

type client struct {
	credentials.TransportCredentials // of the first files, for what gRPC reads before a handshake
	files                            *Files
	serverName                       string
}

// ClientHandshake implements credentials.TransportCredentials.
func (c *client) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c.files.fixed(c.serverName).ClientHandshake(ctx, authority, conn)
}

// Clone implements credentials.TransportCredentials.
func (c *client) Clone() credentials.TransportCredentials {
	return &client{c.TransportCredentials.Clone(), c.files, c.serverName}
}
