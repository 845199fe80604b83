package acceptance

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What users feed generators with, what must come of it, and the tests that hold us to it. Those without a folder are in this
// package and go through the whole command line. The files of rows 1 to 22 are made by pcapio/pcaptest; TestInputFiles has the
// answer for every one of them, with its offset, packet number and reason, and compares what arrives byte for byte.
//
//	| row | input | answer | tests |
//	| --- | --- | --- | --- |
//	| 1 | pcap, little-endian, microseconds | recorded gaps, the span printed | TestInputByteOrders TestInputGapsOnTheWire TestInputFiles |
//	| 2 | the same, big-endian | the same frames and gaps | TestInputByteOrders TestInputFiles |
//	| 3 | pcap with nanoseconds, both orders | kept from end to end, also into another file | TestInputByteOrders TestReplayThroughFiles |
//	| 4 | cut by a snapshot length | counted and refused; --pad fills up, lengths match | TestInputCutFramesAreFilledUp TestInputFiles |
//	| 5 | fewer bytes than an Ethernet header | too_short; refused, left out with --allow-skip | TestInputFiles TestReplayFromAPipe |
//	| 6 | cut within a record or a packet | what is before is sent, "truncated at offset N after packet K" | TestInputFiles cli.TestPcapSays |
//	| 7 | no packets, no bytes, no whole header | refused | TestInputFiles cli.TestPcapSays |
//	| 8 | lengths that cannot be | refused with the place, in bounded memory | TestInputFiles TestInputMemoryIsBounded pcapio.TestMemoryIsBounded |
//	| 9 | pcapng, interfaces of several types and resolutions | each packet by its own, others counted by type | TestInputFiles pcapio.TestReadsWhatIsThere |
//	| 10 | pcapng, every kind of block, sections of both orders | unknown ones passed over, packets without a time back to back, and said | TestInputFiles TestInputTimes |
//	| 11 | pcapng, time offsets, unlimited snapshot length | taken | TestInputFiles |
//	| 12 | times backwards, equal, 30 years apart | no gap and counted; named, --max-gap | TestInputTimes |
//	| 13 | merged frames of 16 to 256 kB | refused each with size and MTU | TestInputSuperFrames TestInputFiles |
//	| 14 | other link types | refused by name; --l2 makes Ethernet of some | TestInputLinkTypes TestInputFiles |
//	| 15 | frames with a length, LLC and SNAP | sent as they are, decoded as LLC | TestInputFramesWithALength TestReplayedFramesAreThoseOfTheCapture |
//	| 16 | 59 to 66 bytes with FCS | below 64 refused or filled up on demand | TestInputSmallSizes TestInputFiles |
//	| 17 | 1518 to 16110 bytes | as far as MTU and engine go, byte for byte, else the limit named | TestInputLargeSizes engine/xdp.TestSizes |
//	| 18 | stacks of VLAN tags | byte for byte with offloads on and off, and counted | TestInputTagsAndOffloads TestReplayedFramesAreThoseOfTheCapture |
//	| 19 | stacks of MPLS labels | a change that needs an unknown place is refused | TestInputOddHeaders TestReplayedFramesAreThoseOfTheCapture |
//	| 20 | chains of IPv6 extension headers | the layer behind is found, fragments left alone | TestInputOddHeaders replay.TestKnownFilesEdited replay.TestFragments |
//	| 21 | odd IPv4 headers and fragments | sent as they are, changes refused with the reason | TestInputOddHeaders replay.TestKnownFilesEdited |
//	| 22 | UDP checksums of 0 | 0 stays, what comes to 0 is 0xffff, over IPv6 flagged | TestInputUDPChecksums replay.TestZeroChecksum |
//	| 23 | a million frames, ports counted, addresses by chance | every checksum right, the same twice, every value | TestInputMillionOfVaryingFrames |
//	| 25 | rates, down to 0.1 pps and beyond the line | the right gap, else refused with the line named | TestInputRates TestBadInput |
//	| 27 | stop under back-pressure, then another flow | nothing of the first behind its report, or "not drained" | TestStoppedFlowIsOver TestBackPressure |
//	| 28 | no link, no carrier | refused before anything is sent | TestInputReplayNeedsALink TestBadInput TestLinkDownDuringTheRun |
//	| 30 | a definition full of mistakes | all of them at once, with their lines | TestInputAllMistakesAtOnce TestBadInput |
//	| 31 | a path that duplicates, swaps, delays, corrupts, drops | each counted for itself, exactly | TestPathHurtsChosenFrames |
//	| 32 | two at one port, Ctrl-C in every phase, kill -9 | the second refused, the port put back | TestSecondInstance TestInterruptInEveryPhase TestInterruptReceiveInEveryPhase TestKilledInEveryPhase TestRestoreAfterKill |
//	| 33 | a pipe, compressed, larger than memory | streamed in bounded memory; no --loop of a pipe | TestInputMemoryIsBounded TestReplayFromAPipe |
//
// The other rows are those of engines and sizes of runs that are not there yet.
func TestInputsHaveTests(t *testing.T) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "inputs_test.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for line := range strings.Lines(f.Decls[1].(*ast.FuncDecl).Doc.Text()) {
		cells := strings.Split(line, "|")
		var row int
		if len(cells) != 6 {
			continue
		}
		if _, err := fmt.Sscan(cells[1], &row); err != nil {
			continue
		}
		tests := strings.Fields(cells[4])
		if seen[row] || len(tests) == 0 {
			t.Errorf("row %d: twice, or without a test", row)
		}
		seen[row] = true
		for _, name := range tests {
			folder, test := filepath.Split(strings.Replace(name, ".Test", "/Test", 1))
			if folder == "" {
				folder = "acceptance"
			}
			if !hasTest(t, filepath.Join("..", folder), test) {
				t.Errorf("row %d: there is no test %s", row, name)
			}
		}
	}
	for row := 1; row <= 33; row++ {
		if later := row == 24 || row == 26 || row == 29; seen[row] == later {
			t.Errorf("row %d: has tests: %t", row, seen[row])
		}
	}
}

// hasTest looks for a test in a folder's files.
func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}
