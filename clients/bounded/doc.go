// Package bounded reads untrusted files and YAML in bounded memory.
package bounded
