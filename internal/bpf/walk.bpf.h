// Finds the innermost payload of any frame: packet.Walk in eBPF, header by header, each by a copy on the stack. It is slow,
// some 10 ns a header, and only asked where the fast path found no signature.
#pragma once
#include <linux/bpf.h>
#include <linux/in.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "checksum.bpf.h"

#define MAX_HEADERS 24 // packet.MaxStack

// What stands at off.
enum at { AT_END, AT_ETH, AT_TYPE, AT_PROTO, AT_MPLS, AT_SNAP };

struct walk {
	__u32 off, end;   // the next header, and the end of what it may lie in
	__u32 at;
	__u32 l4, l4_end; // the innermost header with an L4 checksum, and the end of what that covers; l4 0: none
	__u32 ip;         // 4, 6 or 0: the innermost IP
	__u32 type;       // EtherType, where at is AT_TYPE
	__u8 proto;       // of what stands behind the innermost IP and its extension headers
	__u8 l4_proto;
	__u8 bad;         // lengths that contradict each other
	__u8 fragment;
	__u64 src, dst;   // sums of the innermost IP's addresses, in words as they lie in memory
};

static __always_inline __u32 be16(const __u8 *p) { return p[0] << 8 | p[1]; }

static __always_inline __u64 address(const __u8 *p, int words)
{
	__u64 sum = 0;

	for (int i = 0; i < words; i++)
		sum += *(const __u32 *)(p + 4 * i);
	return sum;
}

// Whether n bytes are left at off, copied to h.
static __always_inline int have(struct xdp_md *ctx, struct walk *w, void *h, __u32 n)
{
	return w->off + n <= w->end && !bpf_xdp_load_bytes(ctx, w->off, h, n);
}

static __always_inline void next(struct walk *w, __u32 n, __u32 at)
{
	w->off += n;
	w->at = at;
}

static __always_inline int is_tag(__u32 type) { return type == 0x8100 || type == 0x88a8 || type == 0x9100; }

static __always_inline void stop_at(struct walk *w, __u32 end)
{
	if (end > w->end)
		w->bad = 1;
	else
		w->end = end;
}

static __always_inline void ipv4(struct xdp_md *ctx, struct walk *w)
{
	__u8 h[20] __attribute__((aligned(8)));
	__u32 n, total, frag;

	if (!have(ctx, w, h, 20) || h[0] >> 4 != 4)
		return;
	n = (h[0] & 15) * 4;
	if (n < 20 || w->off + n > w->end) {
		w->bad = 1;
		return;
	}
	total = be16(h + 2);
	if (total < n)
		w->bad = 1;
	else
		stop_at(w, w->off + total);
	frag = be16(h + 6);
	w->ip = 4;
	w->proto = h[9];
	w->l4 = 0;
	w->fragment = (frag & 0x3fff) != 0;
	w->src = address(h + 12, 1);
	w->dst = address(h + 16, 1);
	next(w, n, frag & 0x1fff ? AT_END : AT_PROTO);
}

static __always_inline void ipv6(struct xdp_md *ctx, struct walk *w)
{
	__u8 h[40] __attribute__((aligned(8)));

	if (!have(ctx, w, h, 40) || h[0] >> 4 != 6)
		return;
	stop_at(w, w->off + 40 + be16(h + 4));
	w->ip = 6;
	w->proto = h[6];
	w->l4 = 0;
	w->fragment = 0;
	w->src = address(h + 8, 4);
	w->dst = address(h + 24, 4);
	next(w, 40, AT_PROTO);
}

static __always_inline void arp(struct xdp_md *ctx, struct walk *w)
{
	__u8 h[8];
	__u32 n;

	if (!have(ctx, w, h, 8))
		return;
	n = 8 + 2 * (h[4] + h[5]);
	if (w->off + n > w->end)
		w->bad = 1;
	else
		w->off += n;
}

// A VLAN tag, an EtherType, or a length (below 0x600) and LLC.
static __always_inline void typed(struct xdp_md *ctx, struct walk *w)
{
	__u8 h[4];
	__u32 n;

	if (is_tag(w->type)) {
		if (!have(ctx, w, h, 4))
			return;
		w->type = be16(h + 2);
		next(w, 4, AT_TYPE);
	} else if (w->type == 0x0800) {
		ipv4(ctx, w);
	} else if (w->type == 0x86dd) {
		ipv6(ctx, w);
	} else if (w->type == 0x8847 || w->type == 0x8848) {
		w->at = AT_MPLS;
	} else if (w->type == 0x0806) {
		arp(ctx, w);
	} else if (w->type < 0x600) {
		stop_at(w, w->off + w->type);
		if (!have(ctx, w, h, 3))
			return;
		n = (h[2] & 3) == 3 ? 3 : 4;
		if (w->off + n > w->end)
			return;
		next(w, n, n == 3 && (h[0] & 0xfe) == 0xaa && (h[1] & 0xfe) == 0xaa ? AT_SNAP : AT_END);
	}
}

static __always_inline void snap(struct xdp_md *ctx, struct walk *w)
{
	__u8 h[5];
	__u32 organization;

	if (!have(ctx, w, h, 5))
		return;
	organization = h[0] << 16 | h[1] << 8 | h[2];
	w->type = be16(h + 3);
	// What is no EtherType is no length either: nothing of AT_TYPE below 0x600 comes from here.
	next(w, 5, (organization == 0 || organization == 0xf8) && w->type >= 0x600 && !is_tag(w->type) ? AT_TYPE : AT_END);
}

static __always_inline void covered(struct walk *w)
{
	w->l4 = w->off;
	w->l4_end = w->end;
	w->l4_proto = w->proto;
}

static __always_inline void udp(struct xdp_md *ctx, struct walk *w)
{
	__u8 h[8], v[1];
	__u32 n;

	if (!have(ctx, w, h, 8))
		return;
	n = be16(h + 4);
	if (n != w->end - w->off && !w->fragment)
		w->bad = 1;
	covered(w);
	next(w, 8, AT_END);
	if (be16(h + 2) != 4789 || w->fragment)
		return;
	if (n >= 8 && w->l4 + n < w->end)
		w->end = w->l4 + n;
	if (w->off + 8 <= w->end && have(ctx, w, v, 1) && v[0] & 8)
		next(w, 8, AT_ETH);
}

static __always_inline void gre(struct xdp_md *ctx, struct walk *w)
{
	__u8 h[4];
	__u32 n;

	if (!have(ctx, w, h, 4) || h[0] & 0x40 || h[1] & 7)
		return;
	n = 4 + 4 * ((h[0] >> 7) + (h[0] >> 5 & 1) + (h[0] >> 4 & 1));
	if (w->off + n > w->end) {
		w->bad = 1;
		return;
	}
	w->type = be16(h + 2);
	w->off += n;
	if (w->fragment)
		return;
	if (w->type == 0x6558)
		w->at = AT_ETH;
	else if (w->type >= 0x600 && !is_tag(w->type))
		w->at = AT_TYPE;
}

// IPv6's extension headers (RFC 8200 4).
static __always_inline void extension(struct xdp_md *ctx, struct walk *w)
{
	__u8 h[8], a[16] __attribute__((aligned(8)));
	__u32 n = 8, last;

	if (!have(ctx, w, h, 8)) {
		w->bad = 1;
		return;
	}
	if (w->proto != 44)
		n += h[1] * 8;
	if (w->off + n > w->end) {
		w->bad = 1;
		return;
	}
	// The destination that upper checksums speak of is the last of the routing header's addresses (RFC 8200 8.1); that of a
	// segment routing header (type 4) is its first (RFC 8754 2).
	if (w->proto == 43 && h[3] && n >= 24 && (h[2] == 0 || h[2] == 2 || h[2] == 4)) {
		last = h[2] == 4 ? 8 : 8 + ((n - 8) / 16 - 1) * 16;
		if (!bpf_xdp_load_bytes(ctx, w->off + last, a, 16))
			w->dst = address(a, 4);
	}
	if (w->proto == 44) {
		w->fragment |= (be16(h + 2) & 0xfff9) != 0;
		if (be16(h + 2) & 0xfff8) {
			w->proto = h[0];
			next(w, n, AT_END);
			return;
		}
	}
	w->proto = h[0];
	next(w, n, AT_PROTO);
}

static __always_inline void upper(struct xdp_md *ctx, struct walk *w)
{
	__u8 h[20];
	__u32 n, p = w->proto;

	if (p == 17) {
		udp(ctx, w);
	} else if (p == 6) {
		if (!have(ctx, w, h, 20))
			return;
		n = (h[12] >> 4) * 4;
		if (n < 20 || w->off + n > w->end) {
			w->bad = 1;
			n = 20;
		}
		covered(w);
		w->off += n;
	} else if (w->ip == 6 && (p == 0 || p == 43 || p == 44 || p == 60)) {
		extension(ctx, w);
	} else if ((p == 1 && w->ip == 4) || (p == 58 && w->ip == 6)) {
		if (w->off + 8 > w->end)
			return;
		covered(w);
		w->off += 8;
	} else if (p == 47) {
		gre(ctx, w);
	} else if (!w->fragment && (p == 4 || p == 41)) {
		w->type = p == 4 ? 0x0800 : 0x86dd;
		w->at = AT_TYPE;
	} else if (!w->fragment && p == 137) {
		w->at = AT_MPLS;
	}
}

// One label; behind the bottom one what reads as IP or as Ethernet.
static __always_inline void mpls(struct xdp_md *ctx, struct walk *w)
{
	__u8 h[14];
	__u32 t;

	if (!have(ctx, w, h, 4))
		return;
	w->off += 4;
	if (!(h[2] & 1)) {
		w->at = AT_MPLS;
		return;
	}
	if (!have(ctx, w, h, 14))
		return;
	if (h[0] >> 4 == 4 && (h[0] & 15) >= 5 && w->off + 20 <= w->end && w->off + be16(h + 2) <= w->end) {
		w->type = 0x0800;
		w->at = AT_TYPE;
	} else if (h[0] >> 4 == 6 && w->off + 40 + be16(h + 4) <= w->end) {
		w->type = 0x86dd;
		w->at = AT_TYPE;
	} else {
		t = be16(h + 12);
		if (t == 0x0800 || t == 0x86dd || t == 0x0806 || t == 0x8847 || t == 0x8848 || t == 0x88b5 || is_tag(t))
			w->at = AT_ETH;
	}
}

// One header. A function of its own that the kernel verifies once, however often it is called. Returns whether there is
// another.
__noinline int walk_header(struct xdp_md *ctx, struct walk *w)
{
	__u8 h[14];
	__u32 at;

	if (!w)
		return 0;
	at = w->at;
	w->at = AT_END;
	switch (at) {
	case AT_ETH:
		if (have(ctx, w, h, 14)) {
			w->type = be16(h + 12);
			next(w, 14, AT_TYPE);
		}
		break;
	case AT_TYPE:
		typed(ctx, w);
		break;
	case AT_PROTO:
		upper(ctx, w);
		break;
	case AT_MPLS:
		mpls(ctx, w);
		break;
	case AT_SNAP:
		snap(ctx, w);
		break;
	}
	return w->at != AT_END;
}

// Whether the innermost L4 checksum is right, or there is none.
static __always_inline int sum_right(struct walk *w, __u8 *data, __u8 *end)
{
	__u8 *p = data + (w->l4 & 0xfff);
	__u32 len = w->l4_end - w->l4;
	__u64 sum = 0;

	if (!w->l4)
		return 1;
	if (len > 0xfff || p + 8 > end || p + len > end)
		return 0;
	if (w->l4_proto == IPPROTO_UDP && !*(__u16 *)(p + 6))
		return w->ip == 4;
	if (w->l4_proto != IPPROTO_ICMP)
		sum = w->src + w->dst + bpf_htons(w->l4_proto) + bpf_htons(len);
	return add_up(p, end, len, sum) == 0xffff;
}
