// Package show makes the first frames of a stream set and reads them back with an independent decoder (gopacket), so that
// what a user sees is what another machine would see and not what this program meant.
//
// It opens nothing and sends nothing. Everything that it returns belongs to the caller; it keeps no state.
package show
