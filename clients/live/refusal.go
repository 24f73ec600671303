package live

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IsRefusal tells whether the API server has certainly not done what it was asked for, such as a binding. A conflict can be
// anything that went wrong in its storage.
func IsRefusal(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return false
	}
	switch code := status.ErrStatus.Code; code {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	default:
		return code >= 400 && code < 500
	}
}
