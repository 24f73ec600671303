//go:build js

package cli

import (
	"context"
	"errors"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/manifest"
	"github.com/stowage-scheduler/stowage/clients/stowage"
)

// A browser answers calls: it has no files, clusters, servers or terminals that a flag could name, and calls cannot set such flags. What reads
// them is left out of the program.

type machineCommands struct{}

// Selectors evaluates the expressions of devices. CEL is not a part of the program: its caller sets another evaluator.
var Selectors convert.Selectors

func (*session) selectors() convert.Selectors { return Selectors }

var errBrowser = errors.New("not available in a browser")

func (*remote) validate() error { return errBrowser }

func (*remote) open(*session) (*stowage.Client, func(), error) { return nil, nil, errBrowser }

func (*cluster) read(context.Context, *manifest.Reader) ([]error, error) { return nil, errBrowser }

func unread([]error) string { return "" }

func kustomize(*manifest.Reader, string) error { return errBrowser }

func isURL(string) bool { return false }

func fetch(context.Context, *manifest.Reader, string) error { return errBrowser }

func (*question) parse(string, string) error { return errBrowser }
