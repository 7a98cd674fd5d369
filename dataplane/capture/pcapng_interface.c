#include "pcapng_interface.h"

enum {
	OPTION_END = 0,
	OPTION_PACKET_DROPS = 4, // of a packet: since the one before it
	OPTION_INTERFACE_DROPS = 5, // of statistics: since the start of the capture
	OPTION_SYSTEM_DROPS = 7,
	OPTION_RESOLUTION = 9,
	OPTION_FCS_LEN = 13,
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

// The value of an option of this length, among those in front of end; NULL: there is none.
static const uint8_t *find_option(
	const uint8_t *at, const uint8_t *end, uint16_t code, uint16_t len, bool is_swapped)
{
	while (end - at >= 4) {
		uint16_t found = load_u16(at, is_swapped);
		uint16_t found_len = load_u16(at + 2, is_swapped);
		size_t padded = 4 + ((found_len + 3u) & ~3u);
		if (found == OPTION_END || (size_t)(end - at) < padded)
			return NULL;
		if (found == code && found_len == len)
			return at + 4;
		at += padded;
	}
	return NULL;
}

struct interface interface_read(const uint8_t *at, uint32_t len, bool is_swapped)
{
	struct interface interface = {.link_type = CAPTURE_NO_INTERFACE};

	if (len < INTERFACE_MIN_BYTES)
		return interface;
	interface.link_type = load_u16(at + 8, is_swapped);
	const uint8_t *options = at + 16, *end = at + len - 4;
	const uint8_t *resolution = find_option(options, end, OPTION_RESOLUTION, 1, is_swapped);
	const uint8_t *fcs_len = find_option(options, end, OPTION_FCS_LEN, 1, is_swapped);
	const uint8_t *offset = find_option(options, end, OPTION_TIME_OFFSET, 8, is_swapped);
	set_resolution(&interface, resolution != NULL ? *resolution : 6);
	// In bits; some writers mean bytes.
	if (fcs_len != NULL && (*fcs_len == 8 * CAPTURE_FCS_LEN || *fcs_len == CAPTURE_FCS_LEN))
		interface.fcs_len = CAPTURE_FCS_LEN;
	if (offset != NULL)
		interface.offset_s = (int64_t)load_u64(offset, is_swapped);
	return interface;
}

// All bits set is how writers say that they do not know.
static uint64_t read_drops(
	const uint8_t *options, const uint8_t *end, uint16_t code, bool is_swapped)
{
	const uint8_t *value = find_option(options, end, code, 8, is_swapped);
	uint64_t n = value != NULL ? load_u64(value, is_swapped) : 0;

	return n != UINT64_MAX ? n : 0;
}

// What statistics say and what packets say is of the same packets: the larger one counts.
static uint64_t add_dropped(struct interface *interface, uint64_t n_dropped)
{
	uint64_t n_before = interface->n_dropped;

	if (n_dropped > n_before)
		interface->n_dropped = n_dropped;
	return interface->n_dropped - n_before;
}

uint64_t interface_take_drops(
	struct interface *interface, const uint8_t *options, const uint8_t *end, bool is_swapped)
{
	interface->n_dropped_between += read_drops(options, end, OPTION_PACKET_DROPS, is_swapped);
	return add_dropped(interface, interface->n_dropped_between);
}

uint64_t interface_take_statistics(
	struct interface *interface, const uint8_t *at, uint32_t len, bool is_swapped)
{
	const uint8_t *options = at + 20, *end = at + len - 4;

	return add_dropped(
		interface, read_drops(options, end, OPTION_INTERFACE_DROPS, is_swapped) +
				   read_drops(options, end, OPTION_SYSTEM_DROPS, is_swapped));
}
