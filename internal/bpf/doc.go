// Package bpf holds the eBPF programs and loads them.
//
// An Analyser is the receiving program and its maps. Its methods may be called from any goroutine; the program runs in
// the kernel for as long as a link or a test run refers to it.
package bpf
