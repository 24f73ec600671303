package manifest

import (
	"errors"

	strictjson "sigs.k8s.io/json"

	"github.com/stowage-scheduler/stowage/clients/quantity"
)

// decode decodes a JSON object strictly: unknown and repeated fields are errors.
func decode(raw []byte, into any) error {
	if err := quantity.CheckJSON(raw, into); err != nil {
		return err
	}
	strict, err := strictjson.UnmarshalStrict(raw, into)
	if err != nil {
		return mistyped(raw, err)
	}
	return errors.Join(strict...)
}
