package ledger

import (
	"errors"
	"net"

	"google.golang.org/grpc/credentials"

	"github.com/stowage-scheduler/stowage/server/admission"
)

// errTooMany is why a connection is closed.
var errTooMany = errors.New("the client has too many connections")

// Credentials returns credentials whose connections are counted. Those inside the process are not.
func (l *Ledger) Credentials(of credentials.TransportCredentials) credentials.TransportCredentials {
	return counting{of, l}
}

type counting struct {
	credentials.TransportCredentials
	ledger *Ledger
}

// ServerHandshake implements credentials.TransportCredentials.
func (c counting) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.TransportCredentials.ServerHandshake(raw)
	if err != nil || conn.LocalAddr().Network() == "bufconn" {
		return conn, info, err
	}
	parts := int64(1)
	if _, named := info.(admission.Named); !named && c.ledger.settings.Name != nil {
		parts = strangerParts
	}
	counted := c.ledger.newConn(conn, admission.ClientOf(conn.RemoteAddr(), info), parts)
	if counted == nil {
		c.ledger.refusals[Connections].Add(1)
		_ = conn.Close()
		return nil, nil, errTooMany
	}
	return counted, info, nil
}

// Clone implements credentials.TransportCredentials.
func (c counting) Clone() credentials.TransportCredentials {
	return counting{c.TransportCredentials.Clone(), c.ledger}
}
