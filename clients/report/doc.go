// Package report shows answers to people: a picture of who is where, tables of verdicts, scores and counts, all plain
// text of at most a given width, the same for the same answer. Where kube-scheduler has a wording, that is used.
package report
