// Package bench measures Stowage; every benchmark checks its answers.
package bench
