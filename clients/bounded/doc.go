// Package bounded reads files and YAML of others within bounds of memory.
package bounded
