/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Writes, as words: every half as a float, then the halves of floats that it reads. */
#include <stdio.h>

#include "ane_f16.h"

int main(void)
{
	float values[3] = { 1.0f, -2.0f, 65520.0f }, value;

	for (uint32_t half = 0; half < 0x10000; half++) {
		value = ane_f16_to_f32((uint16_t)half);
		if (fwrite(&value, sizeof(value), 1, stdout) != 1)
			return 1;
	}
	while (fread(&value, sizeof(value), 1, stdin) == 1) {
		uint32_t half = ane_f32_to_f16(value);

		if (fwrite(&half, sizeof(half), 1, stdout) != 1)
			return 1;
	}
	float_to_half_c_array(values, halves);
	return halves[0] != 0x3c00 || halves[1] != 0xc000 || halves[2] != 0x7c00 || half_to_float(halves[0]) != 1.0f;
}
