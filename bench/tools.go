package main

import (
	"os/exec"
	"time"
)

// A contender is one row: a tool with its arguments.
type contender struct {
	name    string
	command []string // run in namespace A where inA
	inA     bool
	own     bool // wirespeed: its report is read
	// receiver runs in namespace B during the measurement; nil: every frame is dropped there.
	receiver []string
	analyses bool // wirespeed receives: no drop program at the far end
	socket   bool // sends through a socket; see frameSize
	absent   string
}

// A claim is a ratio that the project holds itself to, of two rows in the same round.
type claim struct {
	what     string
	row      string
	against  []string // the best of them counts
	atLeast  float64
	isScaled bool // the ratio of row to against is itself compared with that of the two peers
}

// names of rows that claims speak of.
const (
	fixed      = "wirespeed xdp: fixed frame"
	noClock    = "wirespeed xdp: signature, port, no clock"
	shared     = "wirespeed xdp: the same, clock per 16"
	perFrame   = "wirespeed xdp: the same, clock per frame"
	packetRow  = "wirespeed packet: fixed frame"
	trafficgen = "xdp-trafficgen udp"
	trafgenRow = "trafgen"
	replay     = "tcpreplay --topspeed --preload-pcap"
	mausezahn  = "mausezahn"
	reference  = "reference sender"
)

var claimsOne = []claim{
	{"fixed template against xdp-trafficgen -t 1", fixed + ", 1 thread", []string{trafficgen + " -t 1"}, 1.05, false},
	{"signature, checksum, one port, no clock, against xdp-trafficgen -t 1", noClock + ", 1 thread", []string{trafficgen + " -t 1"}, 1.0, false},
	{"the same with one clock read per 16 frames", shared + ", 1 thread", []string{trafficgen + " -t 1"}, 0.95, false},
	{"the same with a clock read per frame, against the reference", perFrame + ", 1 thread", []string{reference + " -ts 1, 1 thread"}, 0.97, false},
	{"packet: against the better of trafgen and tcpreplay", packetRow + ", 1 thread", []string{trafgenRow, replay}, 1.0, false},
}

var claimsTwo = []claim{
	{"fixed template, two threads, against xdp-trafficgen -t 2", fixed + ", 2 threads", []string{trafficgen + " -t 2"}, 1.0, false},
}

var claimsAnalysis = []claim{
	{"full analysis, clock per frame, against the reference", analysed1 + ", 1 thread", []string{reference + " -ts 1, analyser"}, 0.97, false},
	{"full analysis, one receive clock for up to 4 frames, against the reference", analysed4 + ", 1 thread", []string{reference + " -ts 16, analyser, clock per 4"}, 0.97, false},
}

var claimsScaling = []claim{
	{"two threads and queues, full analysis, clock per 16, against one", analysed4 + ", 2 threads", []string{analysed4 + ", 1 thread"}, 1.6, false},
	{"the same, no worse than xdp-trafficgen -t 2 against -t 1", analysed4 + ", 2 threads", []string{analysed4 + ", 1 thread"}, 1.0, true},
}

// names of rows with the receiver's analysis.
const (
	analysed1 = "wirespeed send and receive, clock per frame at both ends"
	analysed4 = "wirespeed send and receive, clock per 16 sent, per up to 4 received"
)

// dropped lists the contenders whose frames are dropped at the far end.
func dropped(threads int) func(s settings, f files, w *testbed) []contender {
	return func(s settings, f files, w *testbed) []contender {
		n := itoa(threads)
		suffix := ", 1 thread"
		if threads > 1 {
			suffix = ", " + n + " threads"
		}
		send := func(name, engine string, flags ...string) contender {
			args := append([]string{s.wirespeed, "send", engine + ":va@" + w.a, "--dst-mac", mac(w.peer.MAC), "--size", "64", "--queues", n, "--duration", "20s", "--json"}, flags...)
			return contender{name: name + suffix, command: args, own: true}
		}
		signed := []string{"--signature", "full", "--src-port", "inc(1024,1,60000)", "--stamp"}
		rows := []contender{
			send(fixed, "xdp", "--signature", "none", "--stamp", "none"),
			peer(trafficgen+" -t "+n, "xdp-trafficgen", "udp", "va", "-t", n, "-m", mac(w.peer.MAC)),
			send(noClock, "xdp", append(signed, "none")...),
			send(shared, "xdp", append(signed, "shared")...),
			send(perFrame, "xdp", append(signed, "frame")...),
		}
		if s.reference != "" {
			for _, ts := range []string{"0", "1", "16"} {
				rows = append(rows, referenceTx(s, ts, n, reference+" -ts "+ts+suffix))
			}
		}
		rows = append(rows, socket(send(packetRow, "packet", "--signature", "none", "--stamp", "none")))
		if threads > 1 {
			return rows
		}
		return append(rows,
			socket(peer(trafgenRow, "trafgen", "--dev", "va", "--conf", f.trafgen, "--cpus", "1")),
			socket(peer(replay, "tcpreplay", "--intf1=va", "--topspeed", "--preload-pcap", "--loop=0", f.pcap)),
			socket(peer(mausezahn, "mausezahn", "va", "-q", "-c", "0", f.hex)),
		)
	}
}

// analysing is wirespeed at both ends.
func analysing(s settings, w *testbed, name, stamp, clock, threads string) contender {
	suffix := map[string]string{"1": ", 1 thread", "2": ", 2 threads"}[threads]
	return contender{name: name + suffix, own: true, analyses: true, command: []string{
		s.wirespeed, "send", "xdp:va@" + w.a, "--rx", "xdp:vb@" + w.b + clock, "--size", "64", "--signature", "full",
		"--src-port", "inc(1024,1,60000)", "--stamp", stamp, "--queues", threads,
		"--duration", (warmUp + s.window + time.Second).String(), "--json"}}
}

// analysed lists the contenders with analysis at the far end, one thread each.
func analysed(s settings, _ files, w *testbed) []contender {
	rows := []contender{analysing(s, w, analysed1, "frame", clockPerFrame, "1")}
	if s.reference == "" {
		return append(rows, analysing(s, w, analysed4, "shared", clockPer4, "1"))
	}
	one := referenceTx(s, "1", "1", reference+" -ts 1, analyser")
	one.receiver = []string{s.reference, "rx", "-dev", "vb", "-clockgroup", "1", "-time", "1m"}
	four := referenceTx(s, "16", "1", reference+" -ts 16, analyser, clock per 4")
	four.receiver = []string{s.reference, "rx", "-dev", "vb", "-clockgroup", "4", "-time", "1m"}
	return append(rows, one, analysing(s, w, analysed4, "shared", clockPer4, "1"), four)
}

// scaling lists one thread and two, of wirespeed at both ends and of the peer.
func scaling(s settings, _ files, w *testbed) (rows []contender) {
	for _, n := range []string{"1", "2"} {
		rows = append(rows, analysing(s, w, analysed4, "shared", clockPer4, n))
	}
	for _, n := range []string{"1", "2"} {
		traffic := peer(trafficgen+" -t "+n, "xdp-trafficgen", "udp", "va", "-t", n, "-m", mac(w.peer.MAC))
		rows = append(rows, traffic, receivedBy(traffic, "xdp-bench", "drop", "vb"))
	}
	return rows
}

// options of the receiving port: how often its program reads the clock.
const (
	clockPerFrame = "?clock=1"
	clockPer4     = "?clock=4"
)

func referenceTx(s settings, ts, workers, name string) contender {
	return contender{name: name, inA: true, command: []string{s.reference, "tx", "-dev", "va", "-ts", ts, "-workers", workers, "-time", "20s"}}
}

// peer is another tool; it is left out with a note where it is not on PATH.
func peer(name, program string, args ...string) contender {
	path, err := exec.LookPath(program)
	c := contender{name: name, inA: true, command: append([]string{path}, args...)}
	if err != nil {
		c.absent = program + " is not on PATH"
	}
	return c
}

// receivedBy is a peer with another receiver than the program that drops; it is left out where that one is not on PATH.
func receivedBy(c contender, program string, args ...string) contender {
	path, err := exec.LookPath(program)
	c.name += ", " + program + " " + args[0]
	c.receiver = append([]string{path}, args...)
	if err != nil && c.absent == "" {
		c.absent = program + " is not on PATH"
	}
	return c
}

// socket marks a tool that sends socket buffers.
func socket(c contender) contender {
	c.socket = true
	return c
}
