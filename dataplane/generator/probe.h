#pragma once

// The frame a generator sends: Ethernet, IPv4, UDP and an 18-byte probe (probe_format.h), which
// with the FCS the port adds is just the 64-byte minimum. The flow is the UDP source port.

#include "probe_format.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum probe_layout {
	PROBE_FCS_LEN = 4,
	PROBE_CHECKSUM_OFFSET = 14 + 10,
	PROBE_DESTINATION_OFFSET = 14 + 16,
	PROBE_UDP_SOURCE_OFFSET = 14 + 20,
	PROBE_HEAD_LEN = PROBE_OFFSET + PROBE_LEN, // what is written and read of a frame: 60
	PROBE_FIRST_SOURCE_PORT = 1024,
	PROBE_MAX_FLOWS = 65536 - PROBE_FIRST_SOURCE_PORT,
	PROBE_MAX_DESTINATIONS = 1 << 24, // of 10.0.0.0/8
};

struct probe {
	uint64_t seq;
	uint64_t due_ticks; // since the epoch; of one that was read its lower PROBE_DUE_BITS
	uint32_t run_id;
	uint8_t direction;
};

// The first bytes of a frame of one size. 64 bytes so that it is copied as a cache line.
struct probe_template {
	_Alignas(64) uint8_t head[64];
};

// Addresses are locally administered and from RFC 2544's test range; each direction has the
// other's swapped, so that a learning bridge learns both.
void probe_template_fill(struct probe_template *template, uint16_t frame_len, uint8_t direction);

// Hot path: write the head of a frame; frame has room for 64 bytes and is 8-byte aligned or not.
static inline void probe_write(uint8_t *frame, const struct probe_template *template,
	const struct probe *probe, uint32_t flow)
{
	uint64_t seq = probe->seq | (uint64_t)probe->direction << PROBE_DIRECTION_BIT;
	uint64_t low = PROBE_MAGIC | (uint64_t)probe->run_id << 16 | seq << 48;
	uint64_t high = (seq >> 16 & UINT32_MAX) | probe->due_ticks << 32;
	uint16_t top = (uint16_t)(probe->due_ticks >> 32);
	uint16_t port = __builtin_bswap16((uint16_t)(PROBE_FIRST_SOURCE_PORT + flow));

	memcpy(frame, template->head, sizeof(template->head));
	memcpy(frame + PROBE_UDP_SOURCE_OFFSET, &port, sizeof(port));
	memcpy(frame + PROBE_OFFSET, &low, sizeof(low));
	memcpy(frame + PROBE_OFFSET + 8, &high, sizeof(high));
	memcpy(frame + PROBE_OFFSET + 16, &top, sizeof(top));
}

// Hot path: send the frame that was written to address number of 10.0.0.0/8 instead. An odd factor
// gives each number another address and spreads few of them over the whole network.
static inline void probe_set_destination(uint8_t *frame, uint32_t number)
{
	const uint32_t host = number * UINT32_C(0x9e3779b1) & (PROBE_MAX_DESTINATIONS - 1);
	const uint32_t address = __builtin_bswap32(UINT32_C(10) << 24 | host);
	uint32_t before;
	uint16_t checksum;

	memcpy(&before, frame + PROBE_DESTINATION_OFFSET, sizeof(before));
	memcpy(&checksum, frame + PROBE_CHECKSUM_OFFSET, sizeof(checksum));
	// RFC 1624, equation 3; such a sum is the same in either byte order.
	uint32_t sum = (uint32_t)UINT16_MAX - checksum;
	sum += (~before & UINT16_MAX) + (~before >> 16) + (address & UINT16_MAX) + (address >> 16);
	sum = (sum & UINT16_MAX) + (sum >> 16);
	checksum = (uint16_t) ~(sum + (sum >> 16));
	memcpy(frame + PROBE_DESTINATION_OFFSET, &address, sizeof(address));
	memcpy(frame + PROBE_CHECKSUM_OFFSET, &checksum, sizeof(checksum));
}

// Hot path: false when the frame (of at least PROBE_HEAD_LEN bytes) does not carry our magic.
static inline bool probe_read(const uint8_t *frame, struct probe *probe)
{
	uint64_t low, high;
	uint16_t top;

	memcpy(&low, frame + PROBE_OFFSET, sizeof(low));
	if ((low & UINT16_MAX) != PROBE_MAGIC)
		return false;
	memcpy(&high, frame + PROBE_OFFSET + 8, sizeof(high));
	memcpy(&top, frame + PROBE_OFFSET + 16, sizeof(top));
	uint64_t seq = low >> 48 | (high & UINT32_MAX) << 16;
	probe->run_id = (uint32_t)(low >> 16);
	probe->direction = (uint8_t)(seq >> PROBE_DIRECTION_BIT);
	probe->seq = seq & ((UINT64_C(1) << PROBE_DIRECTION_BIT) - 1);
	probe->due_ticks = high >> 32 | (uint64_t)top << 32;
	return true;
}

// Hot path: when a probe was due that is here now. It carries the lower bits, which come round
// after 26 h at 3 GHz: of the times that it can mean, the last one that is over.
static inline uint64_t probe_due_tsc(
	const struct probe *probe, uint64_t epoch_tsc, uint64_t received_tsc)
{
	uint64_t due_tsc = epoch_tsc + probe->due_ticks;

	// One of another run may not be due yet.
	if (received_tsc > due_tsc)
		due_tsc += (received_tsc - due_tsc) >> PROBE_DUE_BITS << PROBE_DUE_BITS;
	return due_tsc;
}

static inline uint32_t probe_flow(const uint8_t *frame)
{
	uint16_t port;

	memcpy(&port, frame + PROBE_UDP_SOURCE_OFFSET, sizeof(port));
	return (uint32_t)(uint16_t)(__builtin_bswap16(port) - PROBE_FIRST_SOURCE_PORT);
}
