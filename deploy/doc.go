// Package deploy tests the manifests: they must parse under the API server's strict rules, and agree with each other, with
// the image and with the server's settings.
package deploy
