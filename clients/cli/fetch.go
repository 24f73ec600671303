//go:build !js

package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/stowage-scheduler/stowage/clients/manifest"
)

// fetchTimeout bounds the time of reading a URL. The reader bounds the text, as for any file.
const fetchTimeout = time.Minute

func isURL(path string) bool {
	return strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://")
}

// fetch reads the manifests of a URL.
//
// Errors have neither the user nor the query of a URL: either may be a secret.
func fetch(ctx context.Context, r *manifest.Reader, from string) (err error) {
	request, err := http.NewRequest(http.MethodGet, from, nil)
	if err != nil {
		return fmt.Errorf("not a URL: %w", reason(err))
	}
	shown := *request.URL
	shown.User, shown.RawQuery = nil, ""
	name := shown.String()
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTimeout, fmt.Errorf("%s: not read within %v", name, fetchTimeout))
	defer cancel()
	defer func() {
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = cause
		}
	}()
	request.Header.Set("User-Agent", "stowage")
	client := http.Client{CheckRedirect: func(to *http.Request, via []*http.Request) error {
		switch {
		case len(via) > 5:
			return errors.New("more than 5 redirects")
		case to.URL.Scheme != "https" && via[0].URL.Scheme == "https":
			return errors.New("a redirect from https to " + to.URL.Scheme)
		}
		return nil
	}}
	answer, err := client.Do(request.WithContext(ctx))
	if err != nil {
		return fmt.Errorf("%s: %w", name, reason(err))
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", name, answer.Status)
	}
	return r.Read(name, answer.Body)
}

// reason is an error without the URL that it is about.
func reason(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
