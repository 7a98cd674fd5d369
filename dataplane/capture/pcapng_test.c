#include "error.h"
#include "pcapng_test_env.h"

#include <errno.h>

// n packets of 98 bytes, 1 us apart from second 1000 on: blocks of 132 bytes.
static struct bytes pcapng_of(uint32_t n, bool is_swapped)
{
	struct bytes bytes = {.is_swapped = is_swapped};

	put_section(&bytes);
	put_interface(&bytes, 1, 9, 0);
	for (uint32_t i = 0; i < n; i++)
		put_packet(&bytes, 0, UINT64_C(1000000000000) + i * 1000, i, 98, 98);
	return bytes;
}

static size_t packet_at(size_t i)
{
	return SECTION_LEN + 28 + i * 132;
}

static void test_either_byte_order_gives_the_same_frames(void **state)
{
	for (int is_swapped = 0; is_swapped < 2; is_swapped++) {
		struct bytes bytes = pcapng_of(500, is_swapped);
		size_t len = bytes.len;

		struct outcome *outcome = read_bytes(&bytes, 100);

		assert_int_equal(outcome->n, 500);
		assert_only(outcome, 0);
		assert_string_equal(outcome->report.format, "pcapng");
		assert_int_equal(outcome->report.n_bytes, len);
		for (uint32_t i = 0; i < 500; i++) {
			assert_int_equal(
				outcome->frames[i].ts_ns, INT64_C(1000000000000) + i * 1000);
			assert_int_equal(outcome->frames[i].cap_len, 98);
			assert_int_equal(outcome->frames[i].first, frame_byte(i, 0));
		}
	}
}

static void test_resolutions_and_offsets_become_nanoseconds(void **state)
{
	static const struct {
		uint8_t resolution;
		int64_t offset_s;
		uint64_t stamp;
		int64_t ts_ns;
	} cases[] = {
		{0, 0, 1700000000123456, 1700000000123456000},
		{6, 0, 7, 7000},
		{9, 0, 7, 7},
		{3, 0, 7, 7000000},
		{12, 0, 7999, 7}, // rounded down
		{19, 0, UINT64_MAX, 1844674407},
		{28, 0, UINT64_MAX, 1},
		{29, 0, UINT64_MAX, 0},
		{127, 0, UINT64_MAX, 0},
		{0x80 | 10, 0, 3 * 1024 + 512, 3500000000},
		{0x80 | 32, 0, UINT64_C(5) << 32 | 1, 5000000000},
		{0x80 | 63, 0, UINT64_MAX, 1999999999},
		{0x80 | 127, 0, UINT64_MAX, 0},
		{9, 1700000000, 5, 1700000000000000005},
		{9, -10, 1, -9999999999},
		{6, -INT64_C(9000000000), UINT64_C(9000000000000001), 1000},
	};

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		for (int is_swapped = 0; is_swapped < 2; is_swapped++) {
			struct bytes bytes = {.is_swapped = is_swapped};
			put_section(&bytes);
			put_interface(&bytes, 1, cases[k].resolution, cases[k].offset_s);
			put_packet(&bytes, 0, cases[k].stamp, 0, 60, 60);

			struct outcome *outcome = read_bytes(&bytes, BLOCK);

			assert_int_equal(outcome->n, 1);
			assert_int_equal(outcome->frames[0].ts_ns, cases[k].ts_ns);
		}
	}
}

static void test_a_time_beyond_64_bits_of_nanoseconds_is_counted(void **state)
{
	struct bytes bytes = {0};

	put_section(&bytes);
	put_interface(&bytes, 1, 6, 0);
	put_packet(&bytes, 0, UINT64_MAX, 0, 60, 60);
	put_packet(&bytes, 0, 1, 1, 60, 60);
	struct outcome *outcome = read_bytes(&bytes, BLOCK);

	assert_int_equal(outcome->n, 1);
	assert_only(outcome, 1 << CAPTURE_BAD_TIME);
	assert_note(outcome, CAPTURE_BAD_TIME, 1, SECTION_LEN + 28, UINT64_MAX);
}

static void test_sections_have_their_own_interfaces_and_byte_order(void **state)
{
	struct bytes bytes = {0};

	put_section(&bytes);
	put_interface(&bytes, 1, 9, 0);
	put_packet(&bytes, 0, 1, 0, 61, 61);
	bytes.is_swapped = true;
	put_section(&bytes);
	put_interface(&bytes, 1, 6, 0);
	put_interface(&bytes, 1, 3, 0);
	put_packet(&bytes, 1, 1, 1, 62, 62);
	put_packet(&bytes, 0, 2000, 2, 63, 63);
	struct outcome *outcome = read_bytes(&bytes, BLOCK);

	assert_int_equal(outcome->n, 3);
	assert_only(outcome, 0);
	assert_int_equal(outcome->frames[0].ts_ns, 1);
	assert_int_equal(outcome->frames[1].ts_ns, 1000000);
	assert_int_equal(outcome->frames[2].ts_ns, 2000000);
	assert_int_equal(outcome->frames[2].cap_len, 63);
}

static void test_many_interfaces_are_told_apart(void **state)
{
	struct bytes bytes = {0};

	put_section(&bytes);
	for (uint32_t i = 0; i < 100; i++)
		put_interface(&bytes, 1, 9, (int64_t)i + 1);
	for (uint32_t i = 0; i < 100; i++)
		put_packet(&bytes, i, i, i, 60, 60);
	struct outcome *outcome = read_bytes(&bytes, BLOCK);

	assert_int_equal(outcome->n, 100);
	for (int64_t i = 0; i < 100; i++)
		assert_int_equal(outcome->frames[i].ts_ns, (i + 1) * 1000000000 + i);
}

static void test_frames_of_other_link_types_are_counted(void **state)
{
	struct bytes bytes = {0};
	char text[256];

	put_section(&bytes);
	put_interface(&bytes, 113, 0, 0);
	put_interface(&bytes, 1, 0, 0);
	put_packet(&bytes, 0, 1, 0, 60, 60);
	put_packet(&bytes, 1, 2, 1, 60, 60);
	put_packet(&bytes, 0, 3, 2, 60, 60);
	put_packet(&bytes, 9, 4, 3, 60, 60);
	struct outcome *outcome = read_bytes(&bytes, BLOCK);

	assert_int_equal(outcome->n, 1);
	assert_only(outcome, 1 << CAPTURE_OTHER_LINK_TYPE);
	assert_note(outcome, CAPTURE_OTHER_LINK_TYPE, 3, SECTION_LEN + 40, 113);
	capture_note_text(&outcome->report, CAPTURE_OTHER_LINK_TYPE, "x", text, sizeof(text));
	assert_string_equal(text, "x: frame at byte 68 has link type 113 (Linux cooked), "
				  "passed over; 3 frames not Ethernet");
}

static void test_other_blocks_are_passed_over(void **state)
{
	struct bytes bytes = pcapng_of(2, false);

	// An unknown one, interface statistics without body, a simple packet, an obsolete packet.
	static const uint32_t types[] = {0x0badf00d, 5};
	for (size_t i = 0; i < 2; i++) {
		put_u32(&bytes, types[i]);
		put_u32(&bytes, 16);
		put_u32(&bytes, 0);
		put_u32(&bytes, 16);
	}
	put_u32(&bytes, 3);
	put_u32(&bytes, 20);
	put_u32(&bytes, 4);
	put_frame_bytes(&bytes, 0, 4);
	put_u32(&bytes, 20);
	put_u32(&bytes, 2);
	put_u32(&bytes, 36);
	put_u16(&bytes, 0);
	put_u16(&bytes, 77);
	put_u32(&bytes, 1000);
	put_u32(&bytes, 0);
	put_u32(&bytes, 4);
	put_u32(&bytes, 60);
	put_frame_bytes(&bytes, 9, 4);
	put_u32(&bytes, 36);
	put_packet(&bytes, 0, UINT64_C(2000) << 32, 3, 60, 60);
	struct outcome *outcome = read_bytes(&bytes, BLOCK);

	assert_int_equal(outcome->n, 4);
	assert_only(outcome, 1 << CAPTURE_BAD_TIME | 1 << CAPTURE_SNAPPED);
	assert_note(outcome, CAPTURE_BAD_TIME, 1, packet_at(2) + 32, 0);
	assert_int_equal(outcome->frames[2].ts_ns, INT64_C(1000) << 32);
	assert_int_equal(outcome->frames[2].first, frame_byte(9, 0));
}

// Statistics count from the start of the capture, packets since the one before; what no writer
// counts is UINT64_MAX. Interface 1 is not Ethernet, 9 not described.
static void test_what_was_dropped_while_capturing_is_summed_up(void **state)
{
	for (int is_swapped = 0; is_swapped < 2; is_swapped++) {
		struct bytes bytes = {.is_swapped = is_swapped};

		put_section(&bytes);
		put_interface(&bytes, 1, 9, 0);
		put_interface(&bytes, 113, 9, 0);
		put_packet_after_drops(&bytes, 0, 1, 0, 60, 60, 2);
		put_packet_after_drops(&bytes, 0, 2, 1, 61, 61, 3);
		put_statistics(&bytes, 0, 10, 5);
		put_statistics(&bytes, 0, 100, 20);
		put_statistics(&bytes, 1, 1000, 0);
		put_statistics(&bytes, 9, 1000, 0);
		put_section(&bytes);
		put_interface(&bytes, 1, 9, 0);
		put_packet_after_drops(&bytes, 0, 3, 2, 60, 60, 7);
		put_statistics(&bytes, 0, 4, UINT64_MAX);
		struct outcome *outcome = read_bytes(&bytes, BLOCK);

		assert_int_equal(outcome->n, 3);
		assert_only(outcome, 0);
		assert_int_equal(outcome->report.n_dropped, 120 + 7);
	}
}

// In bits or in bytes: the drafts have not always said which.
static void test_a_declared_fcs_is_no_part_of_an_interfaces_frames(void **state)
{
	static const uint8_t declared[] = {0, 4, 32, 33};
	struct bytes bytes = {0};

	put_section(&bytes);
	for (uint32_t k = 0; k < 4; k++)
		put_interface_with_fcs(&bytes, declared[k]);
	for (uint32_t k = 0; k < 4; k++)
		put_packet(&bytes, k, 1 + k, k, 68, 68);
	put_packet(&bytes, 1, 5, 4, 66, 68);
	put_packet(&bytes, 1, 6, 5, 3, 3);
	struct outcome *outcome = read_bytes(&bytes, BLOCK);

	assert_int_equal(outcome->n, 6);
	assert_only(outcome, 0);
	static const uint32_t lens[] = {68, 64, 64, 68, 64, 3};
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(outcome->frames[i].wire_len, lens[i]);
		assert_int_equal(outcome->frames[i].cap_len, lens[i]);
	}
}

static void test_a_cut_file_gives_its_whole_frames_and_says_where(void **state)
{
	for (size_t len = 4; len < packet_at(3); len++) {
		struct bytes bytes = pcapng_of(3, false);
		bytes.len = len;
		size_t n_whole = len < packet_at(0) ? 0 : (len - packet_at(0)) / 132;
		size_t last = len < SECTION_LEN	   ? 0
			      : len < packet_at(0) ? SECTION_LEN
						   : packet_at(n_whole);

		struct outcome *outcome = read_bytes(&bytes, BLOCK);

		assert_int_equal(outcome->n, n_whole);
		if (len == last)
			assert_int_equal(outcome->report.notes[CAPTURE_CUT_OFF].count, 0);
		else
			assert_note(outcome, CAPTURE_CUT_OFF, 1, last, len - last);
	}
}

// Any bit of a block's type or of its two lengths.
static void test_a_flipped_bit_costs_one_frame(void **state)
{
	static const size_t words[] = {0, 4, 128};

	for (unsigned k = 0; k < 2 * 3 * 32; k++) {
		struct bytes bytes = pcapng_of(300, k % 2);
		size_t word = words[k / 2 / 32];
		flip(&bytes, packet_at(100) + word, UINT32_C(1) << k / 2 % 32);

		struct outcome *outcome = read_bytes(&bytes, BLOCK);

		// Type 6 with a bit flipped may be that of an obsolete packet: interface 0 still.
		assert_true(outcome->n == 299 || (outcome->n == 300 && word == 0));
		assert_int_equal(outcome->frames[99].first, frame_byte(99, 0));
		assert_int_equal(outcome->frames[outcome->n - 1].first, frame_byte(299, 0));
		if (word != 0) {
			assert_int_equal(outcome->report.notes[CAPTURE_BAD_LENGTH].first_offset,
				packet_at(100));
			assert_note(outcome, CAPTURE_RESYNCHRONISED, 1, packet_at(100), 132);
		}
	}
}

static void test_a_packet_that_claims_more_than_its_block_costs_itself(void **state)
{
	struct bytes bytes = pcapng_of(10, false);

	flip(&bytes, packet_at(4) + 20, 1 << 12);
	struct outcome *outcome = read_bytes(&bytes, BLOCK);

	assert_int_equal(outcome->n, 9);
	assert_only(outcome, 1 << CAPTURE_BAD_LENGTH);
	assert_note(outcome, CAPTURE_BAD_LENGTH, 1, packet_at(4), 98 + (1 << 12));
}

static void test_another_version_is_refused(void **state)
{
	struct bytes bytes = pcapng_of(1, false);
	struct error error = {0};

	bytes.at[12] = 2;
	assert_int_equal(refuse_bytes(&bytes, &error), -EINVAL);
	assert_non_null(strstr(error.text, "pcapng file of version 1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_either_byte_order_gives_the_same_frames),
		cmocka_unit_test(test_resolutions_and_offsets_become_nanoseconds),
		cmocka_unit_test(test_a_time_beyond_64_bits_of_nanoseconds_is_counted),
		cmocka_unit_test(test_sections_have_their_own_interfaces_and_byte_order),
		cmocka_unit_test(test_many_interfaces_are_told_apart),
		cmocka_unit_test(test_frames_of_other_link_types_are_counted),
		cmocka_unit_test(test_other_blocks_are_passed_over),
		cmocka_unit_test(test_what_was_dropped_while_capturing_is_summed_up),
		cmocka_unit_test(test_a_declared_fcs_is_no_part_of_an_interfaces_frames),
		cmocka_unit_test(test_a_cut_file_gives_its_whole_frames_and_says_where),
		cmocka_unit_test(test_a_flipped_bit_costs_one_frame),
		cmocka_unit_test(test_a_packet_that_claims_more_than_its_block_costs_itself),
		cmocka_unit_test(test_another_version_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
