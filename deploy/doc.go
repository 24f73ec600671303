// Package deploy tests what is deployed: that the manifests in kubernetes parse as strictly as the API server parses
// them, and that they agree with each other, with the image and with the server's settings.
package deploy
