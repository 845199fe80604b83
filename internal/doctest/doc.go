// Package doctest keeps the documents true. Its tests run every block marked "sh run" in the README and in docs/, and give
// every other line with a wirespeed command to the real flag parser. It has tests only.
//
// A block runs under bash -euo pipefail with a binary built from the tree on PATH, in a temporary folder that the blocks of
// one page share; with the word "here" in the folder of the source. A block with the word "root" needs it.
package doctest
