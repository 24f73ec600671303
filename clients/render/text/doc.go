// Package text renders answers for people: a picture of nodes and pods, and tables of verdicts, scores and counts. Output is plain text,
// with the colours of an Ink if there is one, and equal for equal answers.
package text
