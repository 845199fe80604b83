// Package program turns a stream definition into bytes: templates, a flat table of modifiers, checksums kept right by
// adding what varies to a sum computed once.
//
// A program may also be a sequence of whole frames, complete or from a source piece by piece: an Image copies them and signs
// those that have room.
//
// Compile is pure: the same stream makes the same Program on every machine. A Program is read-only and may be shared; an
// Image belongs to one queue and its Fill to one goroutine at a time. Fill allocates nothing and writes only into the
// frames that it is given.
package program
