// Package stream holds the definition of what a port sends: streams of frames by weight under one rate, each a list of
// headers with constants and modifiers, a payload and a sequence of sizes.
//
// Definitions come from YAML or JSON files (Parse) or from the flags of a command line (FromFlags). Both are strict and
// report every mistake at once, as Errors. The fields of the headers are those of internal/packet's table; JSONSchema
// describes the file for editors. Nothing here touches a host, beyond the file that FromFlags is asked to read. A Set
// belongs to its caller: SetMACs and SetTTL change it, everything else only reads it.
package stream
