// Package admission decides which requests work, and when. docs/0021-admission.md gives the reasons.
//
// A request that computes has a seat; there are as many seats as processors. While seats are free and no request waits, a request
// takes and returns a seat with one compare-and-swap each. Otherwise it waits in a short queue of its client, or is refused at once
// if it could not be answered in time. Queues take turns by the work that was done for them. Long work returns its seat at the end
// of its slice if others wait. It does so when it calls Err of the lease's context.
//
// Work is estimated and measured as the time that one processor takes.
package admission
