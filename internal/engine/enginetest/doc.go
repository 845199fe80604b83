// Package enginetest is the contract that every engine passes: Run for ports that send, RunReceiver for receivers. An
// engine's own test calls it with a Factory. Everything happens in namespaces of the test's own, which end with it.
//
// Engines without a device pass the same contract: what a file has taken is read back and analysed (Readback), and where
// nothing can be received the port's own counts are checked; each test says what it leaves out, and why.
//
// Counts are compared, never times but by their ratio to what was asked for. Where a receiver may drop (a packet socket
// on a loaded machine), received plus dropped is what must be right.
package enginetest
