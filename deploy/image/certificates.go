package main

import (
	"bytes"
	"encoding/pem"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// certificatesPath is where Go looks for root certificates first.
const certificatesPath = "etc/ssl/certs/ca-certificates.crt"

// certificates returns Mozilla's root certificates in PEM, in the order of their module. Roots with restricted trust are left out,
// because PEM cannot express restrictions.
func certificates() []byte {
	var buf bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			// Writing to a buffer does not fail.
			_ = pem.Encode(&buf, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return buf.Bytes()
}
