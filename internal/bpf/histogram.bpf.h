// engine.Histogram: log-linear buckets of 64-bit values.
#pragma once
#include <linux/types.h>

#define SUB_BITS 5
#define BUCKETS 1024
#define TOP_BIT 35        // values of 2^36 ns and more share the last bucket

struct histogram { // engine.Histogram
	__u64 counts[BUCKETS];
	__u64 count, sum, min, max, square_hi, square_lo, ref, negative;
};

// Index of the highest bit of 1 to 255.
#define R2(v) v, v
#define R4(v) R2(v), R2(v)
#define R8(v) R4(v), R4(v)
#define R16(v) R8(v), R8(v)
#define R32(v) R16(v), R16(v)
#define R64(v) R32(v), R32(v)
static const __u8 top_bit[256] = {0, 0, R2(1), R4(2), R8(3), R16(4), R32(5), R64(6), R64(7), R64(7)};

// engine.Bucket
static __always_inline __u32 bucket(__u64 v)
{
	__u32 e = 0;

	if (v < 1 << SUB_BITS)
		return v;
	if (v >> (TOP_BIT + 1))
		return BUCKETS - 1;
	if (v >> 32)
		e = 32;
	else if (v >> 24)
		e = 24;
	else if (v >> 16)
		e = 16;
	else if (v >> 8)
		e = 8;
	e += top_bit[v >> e & 255];
	return ((e - SUB_BITS + 1) << SUB_BITS | (v >> (e - SUB_BITS) & ((1 << SUB_BITS) - 1))) & (BUCKETS - 1);
}

// engine.Histogram.Record; d is the distance of v to the histogram's reference.
static __always_inline void record(struct histogram *h, __u64 v, __u64 d)
{
	__u64 a = d >> 32, b = (__u32)d, low = b * b;

	h->counts[bucket(v)]++;
	if (!h->count++ || v < h->min)
		h->min = v;
	if (v > h->max)
		h->max = v;
	h->sum += v;
	if (a) { // (a 2^32 + b)^2 = a^2 2^64 + a b 2^33 + b^2
		__u64 middle = a * b;

		h->square_hi += a * a + (middle >> 31);
		low += middle << 33;
		if (low < middle << 33)
			h->square_hi++;
	}
	h->square_lo += low;
	if (h->square_lo < low)
		h->square_hi++;
}
