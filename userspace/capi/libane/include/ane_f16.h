/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Halves for clients of libane: C has no type for the engine's 16-bit floats, so they travel as uint16_t.
 *
 * A float becomes the nearest half, the even one of two that are as near; what is too large becomes infinity, and what is no
 * number the quiet one of its sign. Every half is a float exactly. Nothing here needs libm, and arithmetic on halves is
 * neither done nor meant.
 */
#ifndef ANE_F16_H
#define ANE_F16_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline uint16_t ane_f32_to_f16(float value)
{
	uint32_t bits, sign, magnitude, half, rest, tie;

	memcpy(&bits, &value, sizeof(bits));
	sign = bits >> 16 & 0x8000;
	magnitude = bits & 0x7fffffff;
	if (magnitude > 0x7f800000)
		return (uint16_t)(sign | 0x7e00);
	/* 65520 lies halfway between the largest half and the next power of two. */
	if (magnitude >= 0x477ff000)
		return (uint16_t)(sign | 0x7c00);
	if (magnitude < 0x38800000) {
		/* Below 2^-14 halves are multiples of 2^-24; half of that is the last that becomes zero. */
		uint32_t shift;

		if (magnitude <= 0x33000000)
			return (uint16_t)sign;
		shift = 126 - (magnitude >> 23);
		magnitude = (magnitude & 0x7fffff) | 0x800000;
		half = magnitude >> shift;
		rest = magnitude & (((uint32_t)1 << shift) - 1);
		tie = (uint32_t)1 << (shift - 1);
	} else {
		/* Thirteen bits of the fraction go, and the exponents differ by 112. */
		half = (magnitude - 0x38000000) >> 13;
		rest = magnitude & 0x1fff;
		tie = 0x1000;
	}
	half += rest > tie || (rest == tie && (half & 1));
	return (uint16_t)(sign | half);
}

static inline float ane_f16_to_f32(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16;
	uint32_t exponent = half >> 10 & 0x1f;
	uint32_t fraction = half & 0x3ff;
	uint32_t bits;
	float value;

	if (exponent == 0) {
		value = (float)fraction * 5.9604644775390625e-8f;
		memcpy(&bits, &value, sizeof(bits));
		bits |= sign;
	} else if (exponent == 0x1f) {
		bits = sign | 0x7f800000 | fraction << 13;
	} else {
		bits = sign | (exponent + 112) << 23 | fraction << 13;
	}
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline void ane_f32_to_f16_row(const float *from, uint16_t *to, const uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		to[i] = ane_f32_to_f16(from[i]);
}

static inline void ane_f16_to_f32_row(const uint16_t *from, float *to, const uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		to[i] = ane_f16_to_f32(from[i]);
}

/* Names that older clients use for the same. */
#define float_to_half(value) ane_f32_to_f16(value)
#define half_to_float(half) ane_f16_to_f32(half)

/* An array of halves called `to`, with the values of the array of floats `from`. */
#define float_to_half_c_array(from, to)                                                                                \
	uint16_t to[sizeof(from) / sizeof((from)[0])];                                                                 \
	ane_f32_to_f16_row(from, to, sizeof(from) / sizeof((from)[0]))

#ifdef __cplusplus
}
#endif

#endif
