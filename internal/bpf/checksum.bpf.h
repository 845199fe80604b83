// The Internet checksum of a frame in an XDP program.
#pragma once
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

// Keeps the compiler from making a tree of a long sum: that needs more registers than there are, and a frame's few words
// are added faster one by one than spilled.
#define IN_ORDER(v) asm volatile("" : "+r"(v))

// n bytes, if that bit of the length is set. The place is worked out from the length each time instead of moving a
// pointer along: that way the verifier has one state after every step and not two. The caller has compared the length
// with the end of the frame; the second comparison is for the verifier alone.
#define ADD(n)                                                       \
	if (len & n) {                                               \
		__u8 *q = p + (len & 0xfff & ~(2 * n - 1));          \
		if (q + n <= end) {                                  \
			_Pragma("unroll") for (int i = 0; i < n / 4; i++) \
			{                                            \
				sum += ((__u32 *)q)[i];              \
				IN_ORDER(sum);                       \
			}                                            \
			if (n == 2)                                  \
				sum += *(__u16 *)q;                  \
			if (n == 1)                                  \
				sum += *q;                           \
		}                                                    \
	}

// Folded ones' complement sum (RFC 1071) of the len bytes at p, all of which are before end. Words are added as they lie
// in memory: the sum does not care as long as all are read the same way.
static __always_inline __u16 add_up(__u8 *p, __u8 *end, __u32 len, __u64 sum)
{
	for (int i = 0; i < 15 && i < len / 256; i++) {
		if (p + 256 * i + 256 > end)
			break;
		sum += (__u32)bpf_csum_diff(0, 0, (__be32 *)(p + 256 * i), 256, 0);
	}
	ADD(128) ADD(64) ADD(32) ADD(16) ADD(8) ADD(4) ADD(2) ADD(1)
	sum = (sum & 0xffffffff) + (sum >> 32);
	for (int i = 0; i < 3; i++)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}
