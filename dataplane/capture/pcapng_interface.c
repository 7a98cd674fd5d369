#include "pcapng_interface.h"

enum {
	OPTION_END = 0,
	OPTION_RESOLUTION = 9,
	OPTION_TIME_OFFSET = 14,
};

// if_tsresol: a power of 10, or with the upper bit set of 2, finer than a second.
static void set_resolution(struct interface *interface, uint8_t resolution)
{
	unsigned exponent = resolution & 0x7f;
	bool is_binary = resolution & 0x80;

	interface->scale = 1000000000;
	interface->shift = is_binary ? (uint8_t)exponent : 0;
	interface->divisor = 1;
	if (is_binary)
		return;
	for (; exponent > 0 && interface->scale > 1; exponent--)
		interface->scale /= 10;
	// Above 19 digits below the nanosecond no 64-bit number reaches one.
	if (exponent > 19)
		interface->scale = 0;
	else
		for (; exponent > 0; exponent--)
			interface->divisor *= 10;
}

static void read_options(
	struct interface *interface, const uint8_t *at, const uint8_t *end, bool is_swapped)
{
	while (end - at >= 4) {
		uint16_t code = load_u16(at, is_swapped);
		uint16_t len = load_u16(at + 2, is_swapped);
		const uint8_t *value = at + 4;
		if (code == OPTION_END || end - value < len)
			return;
		if (code == OPTION_RESOLUTION && len == 1) {
			set_resolution(interface, *value);
		} else if (code == OPTION_TIME_OFFSET && len == 8) {
			uint64_t first = load_u32(value, is_swapped);
			uint64_t second = load_u32(value + 4, is_swapped);
			uint64_t high = is_swapped ? first : second;
			interface->offset_s = (int64_t)(high << 32 | (is_swapped ? second : first));
		}
		size_t padded = (len + 3u) & ~3u;
		if ((size_t)(end - value) < padded)
			return;
		at = value + padded;
	}
}

struct interface interface_read(const uint8_t *at, uint32_t len, bool is_swapped)
{
	struct interface interface = {.link_type = CAPTURE_NO_INTERFACE};

	if (len < INTERFACE_MIN_BYTES)
		return interface;
	interface.link_type = load_u16(at + 8, is_swapped);
	set_resolution(&interface, 6);
	read_options(&interface, at + 16, at + len - 4, is_swapped);
	return interface;
}
