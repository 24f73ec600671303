// Package admission decides which requests work, and when. docs/0021-admission.md says why it is as it is.
//
// A request that computes has a seat; there are as many seats as processors. While seats are free and no request waits, a request
// gets one with a compare-and-swap, and gives it back with another one. Otherwise it waits in a short queue of its client's, or
// is refused at once if it could not be answered in time. Queues take turns by the work that was done for them. Long work gives
// its seat back when its slice is over and others wait: the context of a lease does so when it is asked whether it is done.
//
// Work is estimated and measured as the time that one processor takes.
package admission
