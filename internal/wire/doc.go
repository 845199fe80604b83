// Package wire is Ethernet arithmetic: frame sizes, rates, gaps, and the parsing and printing of both.
//
// Everything is exact: rates are rationals of 64-bit integers, nothing is a float until it is printed. All functions are
// pure. Sizes are bytes with the 4-byte FCS unless the name says NoFCS.
package wire
