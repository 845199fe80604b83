// Package cli is the command line: one file per verb, each parses, calls and renders. It is the only package that lists
// the engines, and nobody imports it but the command.
//
// Run may be called from any goroutine, one call at a time: verbs use the process's network namespaces and signals through
// the context that they are given.
package cli
