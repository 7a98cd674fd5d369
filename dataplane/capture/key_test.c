#include "key.h"
#include "key_test_env.h"
#include "probe_format.h"

static const uint8_t zeros[8];

// Bytes that differ everywhere and are nowhere 0, so that what is zeroed shows.
static void fill(uint8_t *frame, size_t len)
{
	for (size_t i = 0; i < len; i++)
		frame[i] = (uint8_t)(i % 255 + 1);
}

static size_t put_ipv6(uint8_t *frame, uint8_t next)
{
	put_be16(frame + 12, 0x86dd);
	frame[14] = 0x60;
	frame[20] = next;
	return 14;
}

static uint32_t key_len(const struct key_spec *spec, const uint8_t *key)
{
	const uint8_t *at = key + spec->stride - 4;

	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

// The key is the first 64 bytes without MACs, zero at the given frame offsets (0 ends the list).
static void assert_zeroed(const char *text, const uint8_t *frame, const size_t *offsets)
{
	struct key_spec spec = parse(text);
	_Alignas(8) uint8_t key[ROOM];
	uint8_t wanted[64];

	memcpy(wanted, frame, sizeof(wanted));
	for (; *offsets > 0; offsets++)
		wanted[*offsets] = 0;
	assert_true(extract(&spec, frame, FRAME_LEN, FRAME_LEN, key));
	assert_memory_equal(key, wanted + 12, 52);
	assert_int_equal(key_len(&spec, key), 52);
}

#define ASSERT_ZEROED(text, frame, ...)                                                            \
	assert_zeroed(text, frame, (const size_t[]){__VA_ARGS__ __VA_OPT__(, ) 0})

static void default_zeroes_checksums_wherever_they_stand(void **state)
{
	uint8_t frame[FRAME_LEN];

	fill(frame, sizeof(frame));
	put_ipv4(frame, 0, 5, 17);
	ASSERT_ZEROED(NULL, frame, 24, 25, 40, 41);
	put_ipv4(frame, 0, 5, 6);
	ASSERT_ZEROED("default", frame, 24, 25, 50, 51);
	put_ipv4(frame, 0, 5, 136);
	ASSERT_ZEROED("default", frame, 24, 25, 40, 41);
	put_ipv4(frame, 0, 7, 17);
	ASSERT_ZEROED("default", frame, 24, 25, 48, 49);
	put_ipv4(frame, 0, 11, 17);
	ASSERT_ZEROED("default", frame, 24, 25);
	put_ipv4(frame, 1, 5, 17);
	ASSERT_ZEROED("default", frame, 28, 29, 44, 45);
	put_ipv4(frame, 3, 5, 6);
	ASSERT_ZEROED("default", frame, 36, 37, 62, 63);
	put_ipv4(frame, 5, 5, 6);
	ASSERT_ZEROED("default", frame, 44, 45);
}

static void other_checksums_stay(void **state)
{
	uint8_t frame[FRAME_LEN];

	fill(frame, sizeof(frame));
	put_ipv4(frame, 0, 5, 1);
	ASSERT_ZEROED("default", frame, 24, 25);
	put_ipv4(frame, 0, 5, 132);
	ASSERT_ZEROED("default", frame, 24, 25);
}

static void later_fragments_have_no_transport_checksum(void **state)
{
	uint8_t frame[FRAME_LEN];

	fill(frame, sizeof(frame));
	size_t ip = put_ipv4(frame, 0, 5, 17);
	put_be16(frame + ip + 6, 0x2000); // the first of several
	ASSERT_ZEROED("default", frame, 24, 25, 40, 41);
	put_be16(frame + ip + 6, 0x2001);
	ASSERT_ZEROED("default", frame, 24, 25);
	put_be16(frame + ip + 6, 0x1f00);
	ASSERT_ZEROED("default", frame, 24, 25);
}

static void ipv6_has_only_the_transport_checksum(void **state)
{
	uint8_t frame[FRAME_LEN];

	fill(frame, sizeof(frame));
	put_ipv6(frame, 17);
	ASSERT_ZEROED("default", frame, 60, 61);
	put_ipv6(frame, 6); // beyond the 64 bytes
	ASSERT_ZEROED("default", frame);
	put_ipv6(frame, 0);
	frame[54] = 17; // behind hop-by-hop options: beyond as well
	ASSERT_ZEROED("default", frame);
}

static void what_is_no_sound_ip_stays(void **state)
{
	uint8_t frame[FRAME_LEN];

	fill(frame, sizeof(frame));
	ASSERT_ZEROED("routed", frame); // an unknown EtherType
	put_ipv4(frame, 0, 4, 17);
	ASSERT_ZEROED("routed", frame);
	put_ipv4(frame, 0, 5, 17);
	frame[14] = 0x55;
	ASSERT_ZEROED("routed", frame);
	put_ipv6(frame, 17);
	frame[14] = 0x45;
	ASSERT_ZEROED("routed", frame);
	put_ipv4(frame, 13, 5, 17); // tags up to the last of the 64 bytes
	ASSERT_ZEROED("routed", frame);
}

// Pushed or popped, tags move what is behind them, and a short packet needs other padding.
static void network_is_the_same_whatever_the_tags(void **state)
{
	struct key_spec spec = parse("network"), plain = parse("default");
	_Alignas(8) uint8_t key[ROOM], other[ROOM];
	uint8_t frame[FRAME_LEN], tagged[FRAME_LEN];

	for (uint32_t ip_len = 20; ip_len <= 60; ip_len += 4) {
		fill(frame, sizeof(frame));
		put_be16(frame + put_ipv4(frame, 0, 5, 17) + 2, ip_len);
		assert_true(extract(&spec, frame, FRAME_LEN, FRAME_LEN, key));
		assert_true(extract(&plain, frame, 14 + ip_len, 14 + ip_len, other));
		assert_memory_equal(key, other, spec.stride);
		for (size_t n_tags = 1; n_tags <= 4; n_tags++) {
			fill(tagged, sizeof(tagged));
			size_t ip = put_ipv4(tagged, n_tags, 5, 17);
			memcpy(tagged + ip, frame + 14, ip_len);
			uint32_t len = (uint32_t)ip + ip_len;
			assert_true(extract(&spec, tagged, len, len + 9, other));
			assert_memory_equal(key, other, spec.stride);
			uint32_t needed = (uint32_t)ip + (ip_len < 50 ? ip_len : 50);
			assert_false(extract(&spec, tagged, needed - 1, len, other));
		}
	}
	// The payload of IPv6 ends where its header says; nobody says where another packet does.
	fill(frame, sizeof(frame));
	put_be16(frame + put_ipv6(frame, 17) + 4, 8);
	assert_true(extract(&spec, frame, 62, FRAME_LEN, key));
	assert_int_equal(key_len(&spec, key), 2 + 40 + 8);
	put_be16(frame + 14 + 4, 0); // too long for its header to say, or not filled in yet
	assert_true(extract(&spec, frame, FRAME_LEN, FRAME_LEN, key));
	assert_int_equal(key_len(&spec, key), KEY_HEAD_BYTES);
	put_be16(frame + 12, 0x0806);
	assert_false(extract(&spec, frame, 62, FRAME_LEN, key));
	assert_true(extract(&spec, frame, 60, 60, key));
	assert_int_equal(key_len(&spec, key), 48);
}

static void routed_zeroes_ttl_and_hop_limit(void **state)
{
	uint8_t frame[FRAME_LEN];

	fill(frame, sizeof(frame));
	put_ipv4(frame, 0, 5, 17);
	ASSERT_ZEROED("routed", frame, 22, 24, 25, 40, 41);
	put_ipv4(frame, 0, 5, 6);
	ASSERT_ZEROED("routed", frame, 22, 24, 25, 50, 51);
	put_ipv4(frame, 2, 6, 17);
	ASSERT_ZEROED("routed", frame, 30, 32, 33, 52, 53);
	put_ipv6(frame, 17);
	ASSERT_ZEROED("routed", frame, 21, 60, 61);
}

static void short_frames_have_shorter_keys(void **state)
{
	struct key_spec spec = parse("default");
	_Alignas(8) uint8_t key[ROOM];
	uint8_t frame[FRAME_LEN];

	fill(frame, sizeof(frame));
	put_ipv4(frame, 0, 5, 17);
	assert_true(extract(&spec, frame, 41, 41, key));
	assert_int_equal(key_len(&spec, key), 29);
	assert_int_equal(key[28], 0); // the half of the UDP checksum that is there
	assert_memory_equal(key + 14, frame + 26, 14);
	for (size_t i = 29; i < 52; i++)
		assert_int_equal(key[i], 0);

	for (uint32_t len = 0; len <= 12; len++) {
		assert_true(extract(&spec, frame, len, len, key));
		assert_memory_equal(key, zeros, 8);
		assert_int_equal(key_len(&spec, key), 0);
	}
}

static void a_length_tells_short_frames_from_zeros(void **state)
{
	struct key_spec spec = parse("default");
	_Alignas(8) uint8_t a[ROOM], b[ROOM];
	uint8_t frame[FRAME_LEN] = {0};

	assert_true(extract(&spec, frame, 60, 60, a));
	assert_true(extract(&spec, frame, 61, 61, b));
	assert_memory_not_equal(a, b, spec.stride);
}

static void snapped_frames_have_no_key(void **state)
{
	uint8_t frame[FRAME_LEN];
	_Alignas(8) uint8_t key[ROOM];
	const char *texts[] = {"default", "routed", "60-63", "63,12-13"};

	fill(frame, sizeof(frame));
	put_ipv4(frame, 0, 5, 17);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct key_spec spec = parse(texts[i]);

		assert_int_equal(spec.frame_bytes, 64);
		assert_false(extract(&spec, frame, 63, 100, key));
		assert_false(extract(&spec, frame, 0, 14, key));
		assert_true(extract(&spec, frame, 64, 100, key));
		assert_true(extract(&spec, frame, 50, 50, key));
	}
}

static void put_probe(uint8_t *at, uint8_t direction)
{
	static const uint8_t magic_run_and_seq[] = {0x54, 0x7a, 1, 2, 3, 4, 5, 6, 7, 8, 9};

	memcpy(at, magic_run_and_seq, sizeof(magic_run_and_seq));
	at[11] = (uint8_t)(direction << (PROBE_DIRECTION_BIT % 8) | 0x0a);
}

static void probe_is_run_seq_and_direction(void **state)
{
	struct key_spec spec = parse("probe");
	_Alignas(8) uint8_t key[ROOM], other[ROOM];
	uint8_t frame[FRAME_LEN];

	fill(frame, sizeof(frame));
	put_ipv4(frame, 0, 5, 17);
	put_probe(frame + PROBE_OFFSET, 0);
	assert_true(extract(&spec, frame, 54, FRAME_LEN, key));
	assert_memory_equal(key, frame + PROBE_OFFSET, 12);
	assert_int_equal(key_len(&spec, key), 12);
	frame[PROBE_OFFSET + 12]++; // when it was due makes it no other packet
	frame[0]++;
	frame[22]--;
	assert_true(extract(&spec, frame, FRAME_LEN, FRAME_LEN, other));
	assert_memory_equal(key, other, spec.stride);
	put_probe(frame + PROBE_OFFSET, 1);
	assert_true(extract(&spec, frame, FRAME_LEN, FRAME_LEN, other));
	assert_memory_not_equal(key, other, spec.stride);

	fill(frame, sizeof(frame));
	put_ipv4(frame, 2, 6, 17);
	put_probe(frame + PROBE_OFFSET + 8 + 4, 0);
	assert_true(extract(&spec, frame, FRAME_LEN, FRAME_LEN, other));
	assert_memory_equal(key, other, spec.stride);
}

static void what_is_no_probe_has_no_key(void **state)
{
	struct key_spec spec = parse("probe");
	_Alignas(8) uint8_t key[ROOM];
	uint8_t frame[FRAME_LEN];

	fill(frame, sizeof(frame));
	assert_false(extract(&spec, frame, FRAME_LEN, FRAME_LEN, key)); // no IP
	size_t ip = put_ipv4(frame, 0, 5, 17);
	assert_false(extract(&spec, frame, FRAME_LEN, FRAME_LEN, key)); // another payload
	put_probe(frame + PROBE_OFFSET, 0);
	assert_true(extract(&spec, frame, FRAME_LEN, FRAME_LEN, key));
	assert_false(extract(&spec, frame, 53, FRAME_LEN, key)); // snapped
	assert_false(extract(&spec, frame, 53, 53, key));
	assert_false(extract(&spec, frame, 23, 23, key));
	frame[ip + 9] = 6;
	assert_false(extract(&spec, frame, FRAME_LEN, FRAME_LEN, key));
	frame[ip + 9] = 17;
	put_be16(frame + ip + 6, 100); // a later fragment
	assert_false(extract(&spec, frame, FRAME_LEN, FRAME_LEN, key));
}

static void ranges_give_bytes_in_their_order(void **state)
{
	struct key_spec spec = parse("42-45/ffff0f00,26-27,44,99");
	_Alignas(8) uint8_t key[ROOM];
	uint8_t frame[FRAME_LEN];

	assert_int_equal(spec.n_bytes, 8);
	assert_int_equal(spec.stride, 16);
	assert_int_equal(spec.frame_bytes, 100);
	fill(frame, sizeof(frame));
	assert_true(extract(&spec, frame, FRAME_LEN, FRAME_LEN, key));
	assert_memory_equal(
		key, ((uint8_t[]){43, 44, 45 & 0x0f, 0, 27, 28, 45, 100, 0, 0, 0, 0}), 12);
	assert_int_equal(key_len(&spec, key), 8);

	assert_true(extract(&spec, frame, 43, 43, key)); // bytes that are not there add nothing
	assert_memory_equal(key, ((uint8_t[]){43, 27, 28, 0, 0, 0, 0, 0, 0, 0, 0, 0}), 12);
	assert_int_equal(key_len(&spec, key), 3);
}

static void keys_are_padded_to_words(void **state)
{
	static const struct {
		const char *text;
		uint32_t n_bytes, stride;
	} cases[] = {
		{"default", 52, 56},
		{"routed", 52, 56},
		{"probe", 12, 16},
		{"0-3", 4, 8},
		{"0-4", 5, 16},
		{"0-123", 124, 128},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct key_spec spec = parse(cases[i].text);

		assert_int_equal(spec.n_bytes, cases[i].n_bytes);
		assert_int_equal(spec.stride, cases[i].stride);
	}
}

static void hash_depends_on_each_byte_and_the_seed(void **state)
{
	_Alignas(8) uint8_t key[56] = {0};
	uint64_t hash = key_hash(key, sizeof(key), 1);

	assert_int_not_equal(hash, key_hash(key, sizeof(key), 2));
	for (size_t i = 0; i < sizeof(key); i++) {
		key[i] = 1;
		assert_int_not_equal(hash, key_hash(key, sizeof(key), 1));
		key[i] = 0;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(default_zeroes_checksums_wherever_they_stand),
		cmocka_unit_test(other_checksums_stay),
		cmocka_unit_test(later_fragments_have_no_transport_checksum),
		cmocka_unit_test(ipv6_has_only_the_transport_checksum),
		cmocka_unit_test(what_is_no_sound_ip_stays),
		cmocka_unit_test(network_is_the_same_whatever_the_tags),
		cmocka_unit_test(routed_zeroes_ttl_and_hop_limit),
		cmocka_unit_test(short_frames_have_shorter_keys),
		cmocka_unit_test(a_length_tells_short_frames_from_zeros),
		cmocka_unit_test(snapped_frames_have_no_key),
		cmocka_unit_test(probe_is_run_seq_and_direction),
		cmocka_unit_test(what_is_no_probe_has_no_key),
		cmocka_unit_test(ranges_give_bytes_in_their_order),
		cmocka_unit_test(keys_are_padded_to_words),
		cmocka_unit_test(hash_depends_on_each_byte_and_the_seed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
