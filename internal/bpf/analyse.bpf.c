//go:build ignore

// The receive analysis: runs in the receiving device's poll, on the CPU that polls, once for every frame.
//
// Frames that carry this run's signature (or, without one, the run's addresses) are counted and dropped; everything
// else passes on to the kernel. What each count means is said in engine.Received; the layouts of struct stream and struct
// cpu are those of Record and CPU in record.go.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "checksum.bpf.h"
#include "histogram.bpf.h"
#include "walk.bpf.h"

#define MAGIC_FULL 0x5753
#define MAGIC_SHORT 0x5773
#define FORM_SHORT 1
#define FORM_FULL 2
#define FULL_LEN 18
#define SHORT_LEN 8
#define VERSION 0x20      // version 1 in bits 7 to 5 of the flags
#define VERSION_MASK 0xe0
#define TIME_MASK 0x18    // 0: the time field holds no stamp
#define LAST 0x02

#define PROTO_TCP 6
#define PROTO_UDP 17
#define OTHER 0           // IP without a checksum that is known here
#define NO_IP 256

#define WINDOW 65536      // bits; 32 fewer numbers are always told apart, see place()
#define JUMP (1ll << 30)  // this far above the highest seen, or more, is no loss but a wrong number
#define GROUP_NS 2000
#define FCS 4
#define MAX_LEN 0xfff    // a frame is smaller than a page

char _license[] SEC("license") = "GPL";

// Set before loading: the verifier then removes what is not used.
const volatile __u8 signatures = 1; // look for signatures at all
const volatile __u8 learn;          // take the run id from the first whole signature
const volatile __u8 any_id;         // take every stream id that has a slot, and its form from its first whole frame
const volatile __u8 run;
const volatile __u8 locked;         // one stream may arrive on several CPUs at a time
const volatile __u8 ordered;        // this machine's stores become visible in their order (x86)
const volatile __u8 match;          // count frames without a signature by address and EtherType
const volatile __u8 clock_group = 1; // frames to one clock read, at most
const volatile __u32 id_base;       // stream id of slot 0
const volatile __u64 gap_low = 1, gap_high, gap_ref;

__u32 learned;          // the run id + 256; 0: none yet
static volatile __u32 zero; // 0, but the verifier does not know it

struct stream { // Record
	__u32 lock;  // 1: held
	__u32 form;  // 0: nobody sends this id, or (any_id) not yet
	__u64 base;  // first sequence number
	__u64 next;  // highest seen + 1
	__u64 frames, bytes;
	__u64 first_ns, last_ns; // arrivals of frames with a stamp
	__u64 duplicate, reordered, late, corrupt, bad_seq;
	__u64 lost_first; // numbers below the lowest that was seen
	__u64 last_seen, last_seq;
	__u64 gap_inside;
	struct histogram latency, gap;
	// One bit for each of the last WINDOW numbers. A word is epoch (number >> 16) << 32 | 32 bits: a word of an older
	// epoch counts as empty, so nothing has to be cleared when the window moves, however far it jumps.
	__u64 window[WINDOW / 32];
};

struct cpu { // CPU
	__u64 frames;      // of the run, not those of bad streams
	__u64 other_bytes; // of those frames that are in no stream's bytes
	__u64 foreign, stale, bad_stream;
	__u64 given_up; // not counted, because another CPU never let go of the stream
	__u64 now, group_stamp, left; // the shared clock read
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); // set before loading
	__type(key, __u32);
	__type(value, struct stream);
} streams SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); // set before loading
	__type(key, __u64);     // source MAC << 16 | EtherType, as the bytes lie in the frame
	__type(value, __u8);
} addresses SEC(".maps");

// Marks sequence number s, which is ahead of the expected one (or, below 0, behind). Returns whether it is a new one.
// Up to 31 numbers at the far end of the window come out as late, because their word already belongs to the next epoch.
static __always_inline int place(struct stream *t, __u64 s, __s64 ahead)
{
	__u64 *word = &t->window[s / 32 % (WINDOW / 32)], v = *word, epoch = s >> 16, bit = 1ull << s % 32;

	if (ahead >= 0) {
		if (ahead && t->next == t->base)
			t->lost_first = ahead;
		t->next = s + 1;
	} else if (-ahead > WINDOW) { // needed besides the epochs: after a jump a word may still have its old one
		t->late++;
		return 0;
	}
	if (v >> 32 < (__u32)epoch) {
		v = epoch << 32;
	} else if (v >> 32 > (__u32)epoch) {
		t->late++;
		return 0;
	}
	if (v & bit) {
		t->duplicate++;
		return 0;
	}
	*word = v | bit;
	if (ahead < 0) {
		t->reordered++;
		if (s - t->base < t->lost_first)
			t->lost_first = s - t->base;
	}
	return 1;
}

// Counts sequence number seq (the low half of 64 bits). Returns whether the frame is one of stream.frames.
static __always_inline int sequence(struct stream *t, __u32 seq, __u8 flags)
{
	__s64 ahead = (__s32)(seq - (__u32)t->next); // the 64-bit number nearest to the expected one
	__u64 s = t->next + ahead;
	int fresh;

	if (ahead + 1 >= JUMP || (__s64)(s - t->base) < 0) {
		if (!learn || t->next) {
			t->bad_seq++;
			return 0;
		}
		t->base = s = seq; // joined a run that is already past 2^30: what was before is not known
		ahead = 0;
	}
	fresh = place(t, s, ahead);
	if (fresh && flags & LAST) {
		t->last_seen = 1;
		t->last_seq = s;
	}
	return fresh;
}

// One clock read for up to clock_group frames that were stamped close together and before that read.
// Without the last condition a frame sent after the read would have arrived before it was sent.
static __always_inline __u64 arrival(struct cpu *c, __u64 stamp)
{
	if (clock_group > 1) {
		if (c->left && stamp - c->group_stamp < GROUP_NS && stamp <= c->now) {
			c->left--;
			return c->now;
		}
		c->left = clock_group - 1;
		c->group_stamp = stamp;
	}
	return c->now = bpf_ktime_get_ns();
}

static __always_inline void times(struct stream *t, __u64 now, __u64 stamp)
{
	if (now >= stamp)
		record(&t->latency, now - stamp, now - stamp);
	else
		t->latency.negative++;
	if (!t->first_ns) {
		t->first_ns = t->last_ns = now;
		return;
	}
	// Two CPUs may come to the record in another order than they read the clock in.
	__u64 gap = locked && now < t->last_ns ? 0 : now - t->last_ns;

	if (clock_group == 1) { // a shared clock would make gaps of 0
		record(&t->gap, gap, gap < gap_ref ? gap_ref - gap : gap - gap_ref);
		if (gap >= gap_low && gap <= gap_high)
			t->gap_inside++;
	}
	t->last_ns += gap;
}

// Where the signature may lie. The functions that take one are called with constants for proto and head wherever they are
// known: one copy of the code for each of UDP, TCP, other protocols and no IP, none of which asks what it is.
struct parsed {
	__u8 *l4, *end; // behind the IP header, or behind Ethernet
	__u32 len;      // bytes behind the IP header that it speaks of
	__u64 sum;      // of the pseudo header, without protocol and length
	__u32 ip;       // 4, 6 or 0
};

// Whether the frame is as long as its headers say and its L4 checksum right. Lengths are the headers', not the
// frame's: short frames are padded.
static __always_inline int whole(struct parsed *f, __u32 proto, __u32 least)
{
	if (proto == NO_IP)
		return 1;
	if (f->len < least || f->len > MAX_LEN || f->l4 + f->len > f->end)
		return 0;
	if (proto == PROTO_UDP) {
		if (bpf_ntohs(*(__u16 *)(f->l4 + 4)) != f->len)
			return 0;
		if (!*(__u16 *)(f->l4 + 6)) // none was made, which only IPv4 allows (RFC 768, RFC 8200 8.1)
			return f->ip == 4;
	} else if (proto != PROTO_TCP) {
		return 1;
	}
	return add_up(f->l4, f->end, f->len, f->sum + bpf_htons(proto) + bpf_htons(f->len)) == 0xffff;
}

struct waiting {
	__u32 slot, got;
};

static int try_again(__u32 index, struct waiting *w)
{
	struct stream *t = bpf_map_lookup_elem(&streams, &w->slot);

	if (!t)
		return 1;
	w->got = !__sync_lock_test_and_set(&t->lock, 1);
	return w->got;
}

// Waits for a lock that another CPU holds: a fraction of a second at most.
static __noinline int wait_for(__u32 slot)
{
	struct waiting w = {.slot = slot};

	bpf_loop(1 << 23, try_again, &w, 0);
	return w.got;
}

// A lock of our own takes half the time of bpf_spin_lock, which also has to stop interrupts: this one is never taken
// from two contexts of the same CPU.
static __always_inline int lock(struct stream *t, __u32 slot)
{
	return !locked || !__sync_lock_test_and_set(&t->lock, 1) || wait_for(slot);
}

static __always_inline void unlock(struct stream *t)
{
	if (!locked)
		return;
	if (ordered) {
		asm volatile("" ::: "memory");
		*(volatile __u32 *)&t->lock = 0;
	} else {
		__sync_lock_test_and_set(&t->lock, 0); // a full barrier
	}
}

// A signature of this run. ok: the frame is whole.
static __always_inline int ours(struct cpu *c, __u8 *p, __u32 form, int ok, __u32 size)
{
	__u32 slot = (form == FORM_FULL ? bpf_ntohs(*(__u16 *)(p + 4)) : p[3]) - id_base;
	__u32 seq = bpf_ntohl(form == FORM_FULL ? *(__u32 *)(p + 6) : *(__u32 *)(p + 4));
	__u32 flags = form == FORM_FULL ? p[3] : 0;
	__u64 now = 0, stamp = 0;
	struct stream *t;

	t = bpf_map_lookup_elem(&streams, &slot);
	if (!t || (t->form != form && !(any_id && !t->form && ok))) {
		c->bad_stream++;
		return XDP_DROP;
	}
	c->frames++;
	if (any_id)
		t->form = form;
	if (flags & TIME_MASK && ok) {
		stamp = bpf_be64_to_cpu(*(__u64 *)(p + 10));
		now = arrival(c, stamp);
	}
	if (!lock(t, slot)) {
		c->given_up++;
		return XDP_DROP;
	}
	if (ok && sequence(t, seq, flags)) {
		t->frames++;
		t->bytes += size;
		if (flags & TIME_MASK)
			times(t, now, stamp);
		unlock(t);
		return XDP_DROP;
	}
	if (!ok)
		t->corrupt++; // the stream as the frame claims it
	unlock(t);
	c->other_bytes += size;
	return XDP_DROP;
}

// Whether this is the run's id. A whole frame may be learned from.
static __always_inline int this_run(__u8 id, int ok)
{
	if (!learn)
		return id == run;
	if (!learned && ok)
		__sync_val_compare_and_swap(&learned, 0, id + 256);
	return learned == id + 256;
}

// The same, one copy for all but the commonest frames.
static __noinline int ours_too(struct cpu *c, __u8 *p, __u32 form, int ok, __u32 size)
{
	return ours(c, p, form, ok, size);
}

#define UNSIGNED -1

// Analyses what lies head bytes behind l4, or returns UNSIGNED.
static __always_inline int signature(struct cpu *c, struct parsed *f, __u32 proto, __u32 head, __u32 size)
{
	__u8 *p = f->l4 + head;
	int ok;

	if (p + FULL_LEN <= f->end && *(__u16 *)p == bpf_htons(MAGIC_FULL)) {
		ok = whole(f, proto, head + FULL_LEN);
		if (ok) {
			if ((p[3] & VERSION_MASK) != VERSION)
				return UNSIGNED;
			if (proto == PROTO_UDP && this_run(p[2], 1))
				return ours(c, p, FORM_FULL, 1, size);
		}
		if (this_run(p[2], ok))
			return ours_too(c, p, FORM_FULL, ok, size);
	} else if (p + SHORT_LEN <= f->end && *(__u16 *)p == bpf_htons(MAGIC_SHORT)) {
		ok = whole(f, proto, head + SHORT_LEN);
		if (this_run(p[2], ok))
			return ours_too(c, p, FORM_SHORT, ok, size);
	} else {
		return UNSIGNED;
	}
	if (learn && !learned)
		return UNSIGNED;
	c->stale++;
	return XDP_DROP;
}

static __always_inline int tcp(struct cpu *c, struct parsed *f, __u32 size)
{
	__u32 head;

	if (f->l4 + 20 > f->end)
		return UNSIGNED;
	head = (f->l4[12] >> 4) * 4;
	return head < 20 ? UNSIGNED : signature(c, f, PROTO_TCP, head, size);
}

static __always_inline int l4(struct cpu *c, struct parsed *f, __u32 proto, __u32 size)
{
	if (proto == PROTO_UDP)
		return signature(c, f, PROTO_UDP, 8, size);
	if (proto == PROTO_TCP)
		return tcp(c, f, size);
	return signature(c, f, OTHER, 0, size);
}

static __always_inline int is_vlan(__u16 type)
{
	return type == bpf_htons(0x8100) || type == bpf_htons(0x88a8) || type == bpf_htons(0x9100);
}

// Looks for the signature behind every header that packet.Walk knows: those that the fast path does not follow, and
// those inside tunnels.
static __noinline int deep(struct xdp_md *ctx, struct cpu *c, __u32 size)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *p;
	struct walk w = {.at = AT_ETH, .end = end - data};
	__u32 form, stop;
	int ok;

	for (int i = 0; i < MAX_HEADERS; i++)
		if (!walk_header(ctx, &w))
			break;
	if (w.fragment)
		return UNSIGNED;
	stop = w.bad ? size - FCS : w.end; // it may lie behind an end that is wrong
	p = data + (w.off & MAX_LEN);
	if (w.off > MAX_LEN || w.off + SHORT_LEN > stop || p + SHORT_LEN > end)
		return UNSIGNED;
	form = *(__u16 *)p == bpf_htons(MAGIC_FULL) ? FORM_FULL : *(__u16 *)p == bpf_htons(MAGIC_SHORT) ? FORM_SHORT : 0;
	if (!form || (form == FORM_FULL && (w.off + FULL_LEN > stop || p + FULL_LEN > end)))
		return UNSIGNED;
	ok = !w.bad && sum_right(&w, data, end);
	if (form == FORM_FULL && ok && (p[3] & VERSION_MASK) != VERSION)
		return UNSIGNED;
	if (!this_run(p[2], ok)) {
		if (learn && !learned)
			return UNSIGNED;
		c->stale++;
		return XDP_DROP;
	}
	if (form == FORM_SHORT)
		return ours_too(c, p, FORM_SHORT, ok, size);
	if (p + FULL_LEN > end)
		return UNSIGNED;
	return ours_too(c, p, FORM_FULL, ok, size);
}

SEC("xdp")
int analyse(struct xdp_md *ctx)
{
	__u8 *eth = (void *)(long)ctx->data, *p = eth;
	struct parsed f = {.end = (void *)(long)ctx->data_end};
	__u32 nil = 0, n, size = f.end - eth + FCS;
	struct cpu *c = bpf_map_lookup_elem(&cpus, &nil);
	int action = UNSIGNED;
	__u16 type;

	if (!c)
		return XDP_PASS;
	if (p + ETH_HLEN > f.end)
		goto foreign;
	type = *(__u16 *)(p + 12);
	p += ETH_HLEN;
	if (type != bpf_htons(ETH_P_IP) && is_vlan(type)) {
		__u32 tags = 0;

#pragma unroll
		for (int i = 0; i < 4; i++) {
			if (!is_vlan(type) || p + 4 * i + 4 > f.end)
				break;
			type = *(__u16 *)(p + 4 * i + 2);
			tags++;
		}
		p += 4 * (tags + zero & 7); // one state for all numbers of tags
	}
	if (!signatures) {
		;
	} else if (type == bpf_htons(ETH_P_IP)) {
		// A fragment is no whole datagram.
		if (p + 20 > f.end || p[0] >> 4 != 4 || *(__u16 *)(p + 6) & bpf_htons(0x3fff))
			goto unsigned_;
		n = (p[0] & 15) * 4;
		if (n < 20)
			goto unsigned_;
		f.ip = 4;
		f.sum = (__u64) * (__u32 *)(p + 12) + *(__u32 *)(p + 16);
		f.len = bpf_ntohs(*(__u16 *)(p + 2)) - n; // too small a number wraps around and is too large then
		f.l4 = p + n;
		action = l4(c, &f, p[9], size);
	} else if (type == bpf_htons(ETH_P_IPV6)) {
		if (p + 40 > f.end || p[0] >> 4 != 6)
			goto unsigned_;
		f.ip = 6;
		f.sum = 0;
#pragma unroll
		for (int i = 8; i < 40; i += 4)
			f.sum += *(__u32 *)(p + i);
		f.len = bpf_ntohs(*(__u16 *)(p + 4));
		f.l4 = p + 40;
		action = l4(c, &f, p[6], size);
	} else {
		f.l4 = p;
		action = signature(c, &f, NO_IP, 0, size);
	}
	if (action != UNSIGNED)
		return action;
unsigned_:
	if (signatures) {
		action = deep(ctx, c, size);
		if (action != UNSIGNED)
			return action;
	}
	if (match) { // the run's by its addresses
		__u64 key = 0;

		__builtin_memcpy(&key, eth + 6, 6);
		key |= (__u64)type << 48;
		if (bpf_map_lookup_elem(&addresses, &key)) {
			c->frames++;
			c->other_bytes += size;
			return XDP_DROP;
		}
	}
foreign:
	c->foreign++;
	return XDP_PASS;
}
