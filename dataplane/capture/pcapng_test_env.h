#pragma once

// The blocks of a pcapng file, for its tests.

#include "capture_test_env.h"

enum {
	BLOCK = 4096,
	SECTION_LEN = 28,
	OPTION_RESOLUTION = 9,
	OPTION_FCS_LEN = 13,
	OPTION_OFFSET = 14,
	OPTION_PACKET_DROPS = 4,
	OPTION_INTERFACE_DROPS = 5,
	OPTION_SYSTEM_DROPS = 7,
};

static inline void put_section(struct bytes *bytes)
{
	put_u32(bytes, 0x0a0d0d0a);
	put_u32(bytes, SECTION_LEN);
	put_u32(bytes, 0x1a2b3c4d);
	put_u16(bytes, 1);
	put_u16(bytes, 0);
	put_u32(bytes, UINT32_MAX);
	put_u32(bytes, UINT32_MAX);
	put_u32(bytes, SECTION_LEN);
}

// resolution 0: none said, which means microseconds.
static inline void put_interface(
	struct bytes *bytes, uint16_t link_type, uint8_t resolution, int64_t offset_s)
{
	uint32_t len = 20 + (resolution != 0 ? 8 : 0) + (offset_s != 0 ? 12 : 0);
	uint8_t padded[4] = {resolution};
	uint32_t high = (uint32_t)((uint64_t)offset_s >> 32), low = (uint32_t)offset_s;

	put_u32(bytes, 1);
	put_u32(bytes, len);
	put_u16(bytes, link_type);
	put_u16(bytes, 0);
	put_u32(bytes, 0);
	if (resolution != 0) {
		put_u16(bytes, OPTION_RESOLUTION);
		put_u16(bytes, 1);
		put(bytes, padded, 4);
	}
	if (offset_s != 0) {
		put_u16(bytes, OPTION_OFFSET);
		put_u16(bytes, 8);
		put_u32(bytes, bytes->is_swapped ? high : low);
		put_u32(bytes, bytes->is_swapped ? low : high);
	}
	put_u32(bytes, len);
}

// An Ethernet interface of microseconds that declares an FCS.
static inline void put_interface_with_fcs(struct bytes *bytes, uint8_t fcs_len)
{
	enum { LEN = 28 };
	uint8_t padded[4] = {fcs_len};

	put_u32(bytes, 1);
	put_u32(bytes, LEN);
	put_u16(bytes, 1);
	put_u16(bytes, 0);
	put_u32(bytes, 0);
	put_u16(bytes, OPTION_FCS_LEN);
	put_u16(bytes, 1);
	put(bytes, padded, 4);
	put_u32(bytes, LEN);
}

static inline void put_u64_option(struct bytes *bytes, uint16_t code, uint64_t value)
{
	put_u16(bytes, code);
	put_u16(bytes, 8);
	put_u64(bytes, value);
}

static inline void put_statistics(
	struct bytes *bytes, uint32_t interface, uint64_t interface_drops, uint64_t system_drops)
{
	enum { LEN = 52 };

	put_u32(bytes, 5);
	put_u32(bytes, LEN);
	put_u32(bytes, interface);
	put_u64(bytes, 0);
	put_u64_option(bytes, OPTION_INTERFACE_DROPS, interface_drops);
	put_u64_option(bytes, OPTION_SYSTEM_DROPS, system_drops);
	put_u32(bytes, 0);
	put_u32(bytes, LEN);
}

// n_dropped: of option epb_dropcount; 0: left out.
static inline void put_packet_after_drops(struct bytes *bytes, uint32_t interface, uint64_t stamp,
	uint32_t mark, uint32_t cap_len, uint32_t wire_len, uint64_t n_dropped)
{
	uint32_t padding = -cap_len & 3;
	uint32_t len = 32 + cap_len + padding + (n_dropped != 0 ? 12 : 0);

	put_u32(bytes, 6);
	put_u32(bytes, len);
	put_u32(bytes, interface);
	put_u32(bytes, (uint32_t)(stamp >> 32));
	put_u32(bytes, (uint32_t)stamp);
	put_u32(bytes, cap_len);
	put_u32(bytes, wire_len);
	put_frame_bytes(bytes, mark, cap_len);
	put(bytes, "\0\0\0", padding);
	if (n_dropped != 0)
		put_u64_option(bytes, OPTION_PACKET_DROPS, n_dropped);
	put_u32(bytes, len);
}

static inline void put_packet(struct bytes *bytes, uint32_t interface, uint64_t stamp,
	uint32_t mark, uint32_t cap_len, uint32_t wire_len)
{
	put_packet_after_drops(bytes, interface, stamp, mark, cap_len, wire_len, 0);
}
