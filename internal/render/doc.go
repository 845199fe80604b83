// Package render prints reports: as text for people, as JSON for programs, and as a live line while a run goes on.
//
// It computes nothing but what the eye needs: every number comes from package report or wire. What is unknown is printed as
// "unknown (reason)", never as 0. Functions build their text first and write it in one call; only Live keeps a state, and
// it may be used from several goroutines.
package render
