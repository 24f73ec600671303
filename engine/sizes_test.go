package engine_test

import (
	"testing"

	"github.com/stowage-scheduler/stowage/engine/enginetest/sizes"
)

func TestSizes(t *testing.T) { sizes.Check(t, ".", 100) }
