package pcapio_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"pgregory.net/rapid"

	"github.com/wirespeed/wirespeed/internal/pcapio"
	"github.com/wirespeed/wirespeed/internal/pcapio/pcaptest"
)

// peer is a reader of pcapgo, of either format.
type peer interface {
	ZeroCopyReadPacketData() ([]byte, gopacket.CaptureInfo, error)
}

func openPeer(f pcaptest.File) (peer, error) {
	if strings.Contains(f.Name, ".pcapng") {
		return pcapgo.NewNgReader(bytes.NewReader(f.Bytes), pcapgo.NgReaderOptions{WantMixedLinkType: true})
	}
	return pcapgo.NewReader(bytes.NewReader(f.Bytes))
}

// differs says in what pcapgo reads another thing of a file than is in it; empty: it reads the same.
func differs(f pcaptest.File) string {
	r, err := openPeer(f)
	if err != nil {
		if f.Refused != "" {
			return ""
		}
		return "refuses the file: " + err.Error()
	}
	if f.Refused != "" {
		return "takes the file"
	}
	for i, want := range f.Packets {
		data, ci, err := r.ZeroCopyReadPacketData()
		switch {
		case err != nil:
			return fmt.Sprintf("stops at packet %d: %v", i+1, err)
		case !bytes.Equal(data, want.Data) || ci.CaptureLength != len(want.Data) || ci.Length != want.Orig:
			return fmt.Sprintf("has other bytes in packet %d", i+1)
		case !want.Untimed && ci.Timestamp.UnixNano() != want.TimeNs:
			return fmt.Sprintf("has another time of packet %d: %d", i+1, ci.Timestamp.UnixNano()-want.TimeNs)
		}
	}
	switch _, _, err := r.ZeroCopyReadPacketData(); {
	case f.Damage == nil && err != io.EOF:
		return fmt.Sprintf("ends with %v", err)
	case f.Damage != nil && err == nil:
		return "reads a packet more than there is"
	case f.Damage != nil && err == io.EOF:
		return "ends as if nothing were wrong"
	case f.Damage != nil && f.Damage.Cut != (errors.Is(err, io.ErrUnexpectedEOF)):
		return fmt.Sprintf("does not tell a cut file from a wrong one: %v", err)
	}
	return ""
}

// lacking is what pcapgo reads otherwise, as the package's documentation says.
var lacking = map[string]string{
	"modified-little.pcap":       "refuses the file",
	"modified-big.pcap":          "refuses the file",
	"cut-before-packet.pcap":     "ends as if nothing were wrong",
	"longer-than-the-file.pcap":  "does not tell a cut file from a wrong one",
	"block-of-0.pcapng":          "does not tell a cut file from a wrong one",
	"block-of-13.pcapng":         "does not tell a cut file from a wrong one",
	"block-of-4gib.pcapng":       "does not tell a cut file from a wrong one",
	"lengths-differ.pcapng":      "reads a packet more than there is",
	"packet-of-4gib.pcapng":      "does not tell a cut file from a wrong one",
	"packet-beyond-block.pcapng": "does not tell a cut file from a wrong one",
	"resolution-25.pcapng":       "ends as if nothing were wrong",
	"resolutions.pcapng":         "has another time of packet 3",
}

// TestPcapgoReadsTheSame: but for what is known to be otherwise, which is why it does not read here.
func TestPcapgoReadsTheSame(t *testing.T) {
	t.Parallel()
	for _, f := range pcaptest.Files() {
		got, want := differs(f), lacking[f.Name]
		if !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: pcapgo %q, known is %q", f.Name, got, want)
		}
	}
}

// TestPcapgoReadsWhatIsWritten: and what pcapgo writes is read here.
func TestPcapgoReadsWhatIsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var ours, theirs bytes.Buffer
		w, err := pcapio.NewWriter(&ours, pcapio.WriterConfig{Format: pcapio.PCAPNG, Link: pcapio.LinkEthernet, IfName: "va"})
		if err != nil {
			t.Fatal(err)
		}
		p, err := pcapgo.NewNgWriterInterface(&theirs, pcapgo.NgInterface{Name: "va", LinkType: layers.LinkTypeEthernet, TimestampResolution: 9}, pcapgo.DefaultNgWriterOptions)
		if err != nil {
			t.Fatal(err)
		}
		packets := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 100)).Draw(t, "packets")
		at := rapid.Int64Range(0, 1<<62).Draw(t, "time")
		for i, b := range packets {
			ci := gopacket.CaptureInfo{Timestamp: time.Unix(0, at+int64(i)), CaptureLength: len(b), Length: len(b) + i}
			if err := errors.Join(w.WriteFrame(at+int64(i), len(b)+i, b, i%2 == 0, i%3 == 0), p.WritePacket(ci, b)); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Stats(1, 2), w.Flush(), p.Flush()); err != nil {
			t.Fatal(err)
		}
		r, err := pcapio.NewReader(&theirs)
		if err != nil {
			t.Fatal(err)
		}
		n, err := pcapgo.NewNgReader(&ours, pcapgo.DefaultNgReaderOptions)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range packets {
			var q pcapio.Packet
			if err := r.Next(&q); err != nil || !bytes.Equal(q.Data, want) || q.Orig != len(want)+i || q.TimeNs != at+int64(i) {
				t.Fatalf("what pcapgo writes, packet %d: %v, %+v", i+1, err, q)
			}
			data, ci, err := n.ReadPacketData()
			if err != nil || !bytes.Equal(data, want) || ci.Length != len(want)+i || ci.Timestamp.UnixNano() != at+int64(i) {
				t.Fatalf("read by pcapgo, packet %d: %v, %+v", i+1, err, ci)
			}
		}
		if err := r.Next(&pcapio.Packet{}); err != io.EOF {
			t.Fatal(err)
		}
		if _, _, err := n.ReadPacketData(); err != io.EOF {
			t.Fatal(err)
		}
		if i, err := n.Interface(0); err != nil || i.Statistics.PacketsReceived != 1 || i.Statistics.PacketsDropped != 2 || i.Name != "va" {
			t.Fatalf("%v: %+v", err, i)
		}
	})
}
