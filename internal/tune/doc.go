// Package tune changes the host, reversibly. Every change is written to the journal before it is made and removed from
// it when it has been undone; what a crash leaves behind, Restore undoes.
//
// A Journal may be used from any goroutine. Undo functions are idempotent.
package tune
