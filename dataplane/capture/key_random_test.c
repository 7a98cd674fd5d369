// Keys of random, often broken frames against the slowest way to say what they are.

#include "key.h"
#include "key_test_env.h"

// A packet of one protocol behind its headers; transport 0: there is none, or it is a later
// fragment.
struct behind {
	unsigned protocol;
	size_t transport;
};

static bool is_tag(const uint8_t *data)
{
	return (data[0] == 0x81 && data[1] == 0x00) || (data[0] == 0x88 && data[1] == 0xa8) ||
	       (data[0] == 0x91 && data[1] == 0x00);
}

static struct behind behind_ipv4(const uint8_t *data, size_t n, size_t ip)
{
	if (ip + 9 >= n || data[ip + 6] % 32 != 0 || data[ip + 7] != 0)
		return (struct behind){0};
	return (struct behind){data[ip + 9], ip + data[ip] % 16 * 4U};
}

// Extension headers are really walked.
static struct behind behind_ipv6(const uint8_t *data, size_t n, size_t ip)
{
	if (ip + 6 >= n)
		return (struct behind){0};
	struct behind at = {data[ip + 6], ip + 40};
	while (at.protocol == 0 || at.protocol == 43 || at.protocol == 44 || at.protocol == 60) {
		const uint8_t *header = data + at.transport;
		if (at.transport + 7 >= n ||
			(at.protocol == 44 && header[2] * 256 + header[3] >= 8))
			return (struct behind){0};
		at.transport += at.protocol == 44 ? 8 : 8 + header[1] * 8U;
		at.protocol = header[0];
	}
	return at;
}

// 0: it has none that forwarding changes.
static size_t checksum_at(struct behind at)
{
	if (at.protocol == 6)
		return at.transport + 16;
	return at.protocol == 17 || at.protocol == 136 ? at.transport + 6 : 0;
}

// Whether the default (or routed) key has 0 at a frame offset: slowly, byte by byte.
static bool is_zeroed(const uint8_t *data, size_t n, size_t offset, bool routed)
{
	struct behind behind;
	size_t at = 12;

	while (at + 1 < n && is_tag(data + at))
		at += 4;
	size_t ip = at + 2;
	if (ip >= n)
		return false;
	if (data[at] == 0x08 && data[at + 1] == 0x00) {
		if (data[ip] / 16 != 4 || data[ip] % 16 < 5)
			return false;
		if (offset == ip + 10 || offset == ip + 11 || (routed && offset == ip + 8))
			return true;
		behind = behind_ipv4(data, n, ip);
	} else if (data[at] == 0x86 && data[at + 1] == 0xdd && data[ip] / 16 == 6) {
		if (routed && offset == ip + 7)
			return true;
		behind = behind_ipv6(data, n, ip);
	} else {
		return false;
	}
	size_t checksum = checksum_at(behind);
	return checksum > 0 && (offset == checksum || offset == checksum + 1);
}

// Take the tags out of n bytes, unless they end amid them. Returns where an IP packet ends, or
// they.
static size_t untag(uint8_t *data, size_t n)
{
	uint8_t *ip = data + 14;
	size_t at = 12, packet = n;

	while (at + 1 < n && is_tag(data + at))
		at += 4;
	if (at + 1 < n) {
		memmove(data + 12, data + at, n - at);
		n -= at - 12;
	}
	if (n >= 20 && data[12] == 0x08 && data[13] == 0x00 && ip[2] * 256 + ip[3] >= 20)
		packet = ip[2] * 256U + ip[3];
	if (n >= 20 && data[12] == 0x86 && data[13] == 0xdd && ip[4] * 256 + ip[5] > 0)
		packet = 40 + ip[4] * 256U + ip[5];
	return 14 + packet < n ? 14 + packet : n;
}

static uint32_t prng = 1;

// Of n; a linear congruential generator's high bits do here.
static uint32_t random_below(uint32_t n)
{
	prng = prng * 1664525 + 1013904223;
	return (prng >> 8) % n;
}

// A frame of which any part may be broken. Returns its captured length.
static uint32_t random_frame(uint8_t *frame, uint32_t *wire_len)
{
	static const uint8_t protocols[] = {6, 17, 136, 1, 132, 0, 43, 44, 60, 59};

	for (size_t i = 0; i < FRAME_LEN; i++)
		frame[i] = (uint8_t)(random_below(255) + 1);
	uint8_t protocol = protocols[random_below(sizeof(protocols))];
	uint32_t n_tags = random_below(3) == 0 ? random_below(15) : 0;
	size_t ip =
		put_ipv4(frame, n_tags, random_below(2) ? 5 : (uint8_t)random_below(16), protocol);
	if (random_below(3) == 0)
		put_be16(frame + ip + 6, random_below(2) ? 1U << random_below(16) : 0);
	if (random_below(4) == 0) {
		put_be16(frame + ip - 2, 0x86dd);
		frame[ip] = 0x60;
		frame[ip + 6] = protocol;
		if (ip + 41 < FRAME_LEN && random_below(2)) {
			frame[ip + 40] = protocols[random_below(3)];
			frame[ip + 41] = 0;
		}
	}
	if (random_below(4) == 0)
		put_be16(frame + ip + (random_below(2) ? 2 : 4), random_below(FRAME_LEN));
	if (random_below(16) == 0)
		frame[ip] = (uint8_t)random_below(256);
	*wire_len = random_below(3) == 0 ? random_below(FRAME_LEN + 1) : FRAME_LEN;
	return random_below(4) == 0 ? random_below(*wire_len + 1) : *wire_len;
}

static void random_frames_agree_with_the_slow_way(void **state)
{
	struct key_spec specs[] = {parse("default"), parse("routed")};
	uint8_t frame[FRAME_LEN], wanted[56];
	_Alignas(8) uint8_t key[ROOM];
	uint32_t n_truncated = 0, wire_len;

	for (uint32_t i = 0; i < 200000; i++) {
		uint32_t cap_len = random_frame(frame, &wire_len);
		uint32_t n = wire_len < 64 ? wire_len : 64;
		bool routed = i % 2 == 1;
		bool found = extract(&specs[routed], frame, cap_len, wire_len, key);

		assert_int_equal(found, cap_len >= n);
		n_truncated += !found;
		if (!found)
			continue;
		memset(wanted, 0, sizeof(wanted));
		for (size_t j = 12; j < n; j++)
			wanted[j - 12] = is_zeroed(frame, n, j, routed) ? 0 : frame[j];
		wanted[52] = (uint8_t)(n > 12 ? n - 12 : 0);
		assert_memory_equal(key, wanted, sizeof(wanted));
	}
	assert_in_range(n_truncated, 1000, 100000);
}

// The key is the default one of what is left when tags and padding are really taken out.
static void random_frames_without_tags_agree_with_the_slow_way(void **state)
{
	struct key_spec network = parse("network"), plain = parse("default");
	uint8_t frame[FRAME_LEN];
	_Alignas(8) uint8_t key[ROOM], wanted[ROOM];
	uint32_t n_cut = 0, n_truncated = 0, wire_len;

	for (uint32_t i = 0; i < 100000; i++) {
		uint32_t cap_len = random_frame(frame, &wire_len);
		bool found = extract(&network, frame, cap_len, wire_len, key);
		uint32_t left = (uint32_t)untag(frame, wire_len);

		n_truncated += !found;
		n_cut += left < wire_len;
		if (!found) {
			assert_true(cap_len < wire_len);
			continue;
		}
		assert_true(extract(&plain, frame, left, left, wanted));
		assert_memory_equal(key, wanted, network.stride);
	}
	assert_in_range(n_truncated, 1000, 50000);
	assert_in_range(n_cut, 1000, 90000);
}

static void random_ranges_agree_with_the_slow_way(void **state)
{
	uint8_t frame[FRAME_LEN];
	_Alignas(8) uint8_t key[ROOM];

	for (uint32_t i = 0; i < 20000; i++) {
		char text[256] = "";
		uint8_t wanted[128] = {0};
		uint32_t wire_len, n_key = 0, reach = 0, n_all = 0;
		uint32_t cap_len = random_frame(frame, &wire_len);

		for (uint32_t j = random_below(8) + 1; j > 0; j--) {
			uint32_t first = random_below(FRAME_LEN + 10);
			uint32_t last = first + random_below(8);
			bool masked = random_below(2);

			size_t used = strlen(text);
			used += (size_t)sprintf(text + used, "%s%u-%u%s", used > 0 ? "," : "",
				first, last, masked ? "/" : "");
			for (uint32_t k = first; k <= last; k++, n_all++) {
				uint8_t mask = masked ? (uint8_t)random_below(256) : 0xff;

				if (masked)
					used += (size_t)sprintf(text + used, "%02X", mask);
				if (k < wire_len)
					wanted[n_key++] = frame[k < FRAME_LEN ? k : 0] & mask;
			}
			reach = last + 1 > reach ? last + 1 : reach;
		}
		struct key_spec spec = parse(text);
		assert_int_equal(spec.n_bytes, n_all);
		wanted[spec.stride - 4] = (uint8_t)n_key;
		bool found = extract(&spec, frame, cap_len, wire_len, key);
		assert_int_equal(found, cap_len >= (reach < wire_len ? reach : wire_len));
		if (found)
			assert_memory_equal(key, wanted, spec.stride);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_frames_agree_with_the_slow_way),
		cmocka_unit_test(random_frames_without_tags_agree_with_the_slow_way),
		cmocka_unit_test(random_ranges_agree_with_the_slow_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
