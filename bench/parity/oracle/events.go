package oracle

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
)

// silent drops the scheduler's events.
type silent struct{}

func (silent) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}

func (silent) WithLogger(klog.Logger) events.EventRecorderLogger { return silent{} }
