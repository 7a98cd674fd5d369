#pragma once

// Addresses and prefixes of IPv4 and IPv6, and MAC addresses, from text.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ADDRESS_TEXT_MAX = 48, // an IPv6 address with its NUL
	MAC_LEN = 6,
};

// Network order. IPv4 stands in the first four bytes, and zeros behind it.
struct address {
	uint8_t bytes[16];
	bool is_v6;
};

struct prefix {
	struct address address; // no bit is set behind depth
	uint8_t depth;
};

// Bits of an address of that family.
static inline unsigned int address_bits(bool is_v6)
{
	return is_v6 ? 128 : 32;
}

// Orders by family, then by bytes. As memcmp.
int address_compare(const struct address *a, const struct address *b);

// "192.0.2.1" or "2001:db8::1", nothing before or behind it. Returns 0 or -EINVAL.
int address_parse(const char *text, struct address *out);

// The first depth bits, the others zero.
struct address address_masked(const struct address *address, unsigned int depth);

// The last address of a prefix: IPv4's broadcast address of a network.
struct address prefix_last(const struct prefix *prefix);

// "10.0.0.0/8", or an address, whose depth then is all its bits. The address comes as it is
// written, with the bits behind the prefix. Returns 0 or -EINVAL.
int prefix_parse(const char *text, struct prefix *out);

// Returns out.
const char *address_text(const struct address *address, char out[ADDRESS_TEXT_MAX]);

// "02:00:00:00:00:01" of one station: neither a group's nor all zero. Returns 0 or -EINVAL.
int mac_parse(const char *text, uint8_t out[MAC_LEN]);
