// Package simulate has simulations of whole deployments in one process, in time that does not pass by itself: servers with their
// clients, the batch scheduler, and the extender, each with an API server. Each is drawn from a seed: what callers do, and what breaks
// meanwhile. A violation prints its seed, and `make simulate SEED=n SEEDS=1` draws it again.
//
// A seed fixes what is done and what breaks, and when. Which of two goroutines runs first that are ready at the same instant is up to
// the runtime, so a rare violation may take a few runs of its seed to come back.
package simulate
