// Package archtest holds the rules of the tree that a test can check: which package may import which, what no library
// does, how long files and functions get, that every package and decoder is documented and fuzzed. It has tests only; they
// read the source and keep no state.
package archtest
