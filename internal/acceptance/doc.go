// Package acceptance holds the tests of the whole command line: what a user types, and what must come of it. Each test
// is one rule of the accounting, and compares what wirespeed says with what the kernel says.
//
// The tests call the command line in their own process where they can, one call at a time, and start the built program
// where signals, a second process or another user matter. They run in a mount namespace of their own, in which the state
// of wirespeed and the names of network namespaces are empty at first, so that they see no labs but theirs and leave
// nothing behind even when they are killed.
package acceptance
