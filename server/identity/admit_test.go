package identity

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"testing"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// BenchmarkAdmit admits a call by certificate and by token.
func BenchmarkAdmit(b *testing.B) {
	r, err := ParseRules([]byte(`rules: [{callers: ["user:x", "subject:CN=a", "token:t"], tenant: t, methods: ["*"]}]
tokens: [{name: t, sha256: 2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b}]`))
	if err != nil {
		b.Fatal(err)
	}
	a := New(r, nil)
	certificate := &x509.Certificate{Subject: pkix.Name{CommonName: "a"}}
	byCertificate := peer.NewContext(context.Background(), &peer.Peer{
		Addr: &net.TCPAddr{},
		AuthInfo: OfConnection(credentials.TLSInfo{
			State: tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{certificate}}},
		}),
	})
	byToken := metadata.NewIncomingContext(byCertificate, metadata.Pairs("authorization", "Bearer secret"))
	for name, ctx := range map[string]context.Context{"certificate": byCertificate, "token": byToken} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := a.Admit(ctx, "/stowage.v1.PlacementService/Filter"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
