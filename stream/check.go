package stream

import (
	"fmt"
	"strconv"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// check finds the mistakes that concern several parts of a definition at once, and fills in default names and sizes.
// sources has one entry for each stream.
func check(set *Set, sources []source, n *notes) {
	names := map[string]int{}
	weights := make([]int, len(set.Streams))
	for i := range set.Streams {
		st, src := &set.Streams[i], &sources[i]
		weights[i] = st.Weight
		if st.Name == "" {
			st.Name = "stream" + strconv.Itoa(i+1)
		}
		if first, again := names[st.Name]; again {
			n.at(src.name, fmt.Sprintf("stream %d has the name %q already", first+1, shorten(st.Name)), "give every stream a name of its own")
		} else {
			names[st.Name] = i
		}
		checkStream(st, src, n)
	}
	if i, total := largest(set); total > maxHeads {
		n.at(sources[i].size, fmt.Sprintf("the headers of all sizes of all streams come to %d MiB, more than %d", total>>20, maxHeads>>20), "use fewer sizes here, as in 64-1518/64")
	}
	if len(weights) > 0 && round(weights) > maxRound {
		n.at(sources[0].weight, fmt.Sprintf("one round of the weights has more than %d frames", maxRound), "use smaller weights in the same proportion")
	}
}

// maxRound is the most frames in one round of the weights: programs keep the round as a list.
const maxRound = 1 << 18

// maxHeads is the most bytes of headers that are kept ready: one head for each size of each stream.
const maxHeads = 1 << 28

// largest is the stream that has most bytes of heads, and how many all have together.
func largest(set *Set) (at, total int) {
	most := 0
	for i := range set.Streams {
		st := &set.Streams[i]
		sizes := len(st.Size.Cycle)
		if st.Size.Op == SizeRandom {
			sizes = st.Size.Max - st.Size.Min + 1
		}
		head := st.headerLen() + packet.FullLen
		for _, v := range st.Modify {
			head = max(head, st.headerLen()+bytesTo(v.Field))
		}
		total += sizes * head
		if sizes*head > most {
			at, most = i, sizes*head
		}
	}
	return at, total
}

// round is the number of frames after which the weights begin again.
func round(weights []int) int {
	div, sum := 0, 0
	for _, w := range weights {
		sum += w
		for w != 0 {
			div, w = w, div%w
		}
	}
	return sum / max(1, div)
}

// headerLen is the length of all headers in bytes.
func (st *Stream) headerLen() int {
	sum := 0
	for _, l := range st.Layers {
		sum += l.Kind.Len
	}
	return sum
}
