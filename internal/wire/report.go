package wire

import (
	"errors"
	"fmt"
)

// RateReport is the arithmetic of one rate on one link: the JSON document of the verb rate. What is unknown is null and
// has its reason in Reasons, by the name of the field.
type RateReport struct {
	Size        float64           `json:"size"`  // bytes with FCS; the mean of several sizes
	Sizes       string            `json:"sizes"` // as ParseSizes reads them
	Rate        string            `json:"rate"`  // as ParseRate reads it
	LinkBps     *uint64           `json:"link_bps"`
	FPSMax      *float64          `json:"fps_max"` // frames/s that fill the link
	FPS         float64           `json:"fps"`
	L1Bps       float64           `json:"l1_bps"`       // bit/s with preamble and gap
	L2Bps       float64           `json:"l2_bps"`       // bit/s of frames with FCS
	L2NoFCSBps  float64           `json:"l2_nofcs_bps"` // bit/s of frames without FCS
	L3Bps       float64           `json:"l3_bps"`       // bit/s of packets, padding included
	LineShare   *float64          `json:"line_share"`   // of L1, 0 to 1
	L2LineShare *float64          `json:"l2_line_share"`
	GapNs       *float64          `json:"gap_ns"` // start to start of frames, on average
	Reasons     map[string]string `json:"reasons"`
}

// maxTags is how many VLAN tags leave a packet in the smallest frame.
const maxTags = (MinFrame - ethernetHeader) / VLANTag

// noLink is why shares of a line are unknown.
const noLink = "no link speed is given: --link 1G"

// Report computes all figures of a rate for frames of the given sizes with tags VLAN tags each. linkBps is 0 where the link
// has no speed; then max has no meaning and is refused, as is a percentage, and shares of the line are null.
func Report(s Sizes, linkBps uint64, r Rate, tags int) (RateReport, error) {
	switch {
	case tags < 0 || tags > maxTags:
		return RateReport{}, fmt.Errorf("%d VLAN tags are not possible: write 0 to %d", tags, maxTags)
	case linkBps == 0 && r.Kind == RateMax:
		return RateReport{}, errors.New("neither a link speed nor a rate is given: add --link 1G, or --rate 1Mpps")
	case linkBps == 0 && r.Kind == RatePercent:
		return RateReport{}, fmt.Errorf("rate %s needs a link speed: add --link 1G, or give the rate in pps", r)
	}
	meanNum, meanDen := s.Mean()
	f, err := r.FPSMean(meanNum, meanDen, linkBps)
	if err != nil {
		return RateReport{}, err
	}
	out := RateReport{Sizes: s.String(), Rate: r.String(), Reasons: map[string]string{}}
	out.Size, _ = rat(meanNum, meanDen).Float64()
	if linkBps == 0 {
		for _, field := range []string{"link_bps", "fps_max", "line_share", "l2_line_share"} {
			out.Reasons[field] = noLink
		}
	} else {
		line, err := MaxFPS(meanNum, meanDen, linkBps)
		if err != nil {
			return RateReport{}, err
		}
		if f.IsZero() {
			f = line
		}
		fpsMax := line.Float()
		out.LinkBps, out.FPSMax = &linkBps, &fpsMax
	}
	l := LayersAt(f, meanNum, meanDen, tags)
	out.FPS, out.L1Bps, out.L2Bps, out.L2NoFCSBps, out.L3Bps = l.FPS, l.L1Bps, l.L2Bps, l.L2NoFCSBps, l.L3Bps
	if linkBps != 0 {
		l1, l2 := l.LineShare(linkBps), l.L2LineShare(linkBps)
		out.LineShare, out.L2LineShare = &l1, &l2
	}
	num, den := f.GapNs()
	gap, _ := rat(num, den).Float64()
	out.GapNs = &gap
	return out, nil
}
