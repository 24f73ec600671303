package config

import (
	"fmt"
	"math"
	"reflect"

	"github.com/alecthomas/kong"
	"github.com/dustin/go-humanize"
)

// sizeInBytes decodes a number of bytes, which may have a unit: M is 10^6 and Mi 2^20, as in Kubernetes.
func sizeInBytes(c *kong.DecodeContext, into reflect.Value) error {
	var text string
	if err := c.Scan.PopValueInto("bytes", &text); err != nil {
		return err
	}
	n, err := humanize.ParseBytes(text)
	if err != nil || n > math.MaxInt64 || into.OverflowInt(int64(n)) {
		return fmt.Errorf("must be a number of bytes, such as 134217728 or 128Mi, is %q", text)
	}
	into.SetInt(int64(n))
	return nil
}
