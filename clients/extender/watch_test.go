package extender

import "k8s.io/apimachinery/pkg/watch"

// The fake API server panics when a watcher falls this many events behind, 100 by default, which happens on a busy machine.
func init() { watch.DefaultChanSize = 8192 }
