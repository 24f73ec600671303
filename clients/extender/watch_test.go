package extender

import "k8s.io/apimachinery/pkg/watch"

// The fake API server panics when a watcher is so many events behind, 100 otherwise, as it may be on a busy machine.
func init() { watch.DefaultChanSize = 8192 }
