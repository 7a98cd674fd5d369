#include "capture_test_env.h"
#include "error.h"

#include <errno.h>

enum { BLOCK = 4096 };

static void test_every_byte_order_and_resolution_gives_the_same_frames(void **state)
{
	static const uint32_t magics[] = {TEST_PCAP_US, TEST_PCAP_NS, 0xa1b2cd34};

	for (size_t m = 0; m < 6; m++) {
		struct bytes bytes = {.is_swapped = m % 2};
		uint32_t magic = magics[m / 2];
		put_pcap_header(&bytes, magic, 65535, 1);
		for (uint32_t i = 0; i < 200; i++) {
			put_u32(&bytes, 7);
			put_u32(&bytes, i * 3);
			put_u32(&bytes, 60 + i);
			put_u32(&bytes, 60 + i);
			if (magic == magics[2])
				put(&bytes, "12345678", 8);
			put_frame_bytes(&bytes, i, 60 + i);
		}

		struct outcome *outcome = read_bytes(&bytes, BLOCK);

		assert_int_equal(outcome->n, 200);
		assert_only(outcome, 0);
		assert_string_equal(outcome->report.format, "pcap");
		for (uint32_t i = 0; i < 200; i++) {
			int64_t fraction_ns = (int64_t)i * 3 * (magic == TEST_PCAP_NS ? 1 : 1000);
			assert_int_equal(outcome->frames[i].ts_ns, 7000000000 + fraction_ns);
			assert_int_equal(outcome->frames[i].cap_len, 60 + i);
			assert_int_equal(outcome->frames[i].wire_len, 60 + i);
			assert_int_equal(outcome->frames[i].first, frame_byte(i, 0));
		}
	}
}

// Of 64 bytes on the wire and 4 of FCS: whole, snapped in front of it, in it, and far before. Units
// differ between writers: 16 bits, as the format has it, or bytes.
static void test_a_declared_fcs_is_no_part_of_a_frame(void **state)
{
	static const uint32_t declared[] = {0x24000001, 0x44000001};

	for (size_t k = 0; k < 2; k++) {
		struct bytes bytes = {0};
		put_pcap_header(&bytes, TEST_PCAP_NS, 65535, declared[k]);
		put_record(&bytes, 1, 0, 0, 68, 68);
		put_record(&bytes, 1, 1, 1, 64, 68);
		put_record(&bytes, 1, 2, 2, 66, 68);
		put_record(&bytes, 1, 3, 3, 50, 68);

		struct outcome *outcome = read_bytes(&bytes, BLOCK);

		assert_int_equal(outcome->n, 4);
		assert_only(outcome, 1 << CAPTURE_SNAPPED);
		assert_int_equal(outcome->report.notes[CAPTURE_SNAPPED].count, 1);
		for (size_t i = 0; i < 4; i++) {
			assert_int_equal(outcome->frames[i].wire_len, 64);
			assert_int_equal(outcome->frames[i].cap_len, i < 3 ? 64 : 50);
		}
	}
}

static void test_an_fcs_of_unknown_length_stays(void **state)
{
	static const uint32_t declared[] = {0x20000001, 0x04000001, 0xf4000001, 0x00ff0001};

	for (size_t k = 0; k < 4; k++) {
		struct bytes bytes = {0};
		put_pcap_header(&bytes, TEST_PCAP_NS, 65535, declared[k]);
		put_record(&bytes, 1, 0, 0, 68, 68);

		assert_int_equal(read_bytes(&bytes, BLOCK)->frames[0].wire_len, 68);
	}
}

static void test_seconds_are_unsigned(void **state)
{
	struct bytes bytes = {0};

	put_pcap_header(&bytes, TEST_PCAP_NS, 65535, 1);
	put_record(&bytes, UINT32_MAX, 999999999, 0, 60, 60);

	struct outcome *outcome = read_bytes(&bytes, BLOCK);

	assert_int_equal(outcome->n, 1);
	assert_int_equal(outcome->frames[0].ts_ns, INT64_C(4294967295999999999));
}

static void test_any_block_size_gives_every_frame(void **state)
{
	for (size_t block = 17; block < 400; block += 13) {
		struct bytes bytes = pcap_of(500);
		size_t len = bytes.len;

		struct outcome *outcome = read_bytes(&bytes, block);

		assert_int_equal(outcome->n, 500);
		assert_int_equal(outcome->report.n_bytes, len);
		assert_only(outcome, 0);
		for (uint32_t i = 0; i < 500; i++)
			assert_int_equal(outcome->frames[i].first, frame_byte(i, 0));
	}
}

static void test_a_record_larger_than_a_block_is_whole(void **state)
{
	struct bytes bytes = {0};

	put_pcap_header(&bytes, TEST_PCAP_NS, 4 << 20, 1);
	put_record(&bytes, 1, 0, 0, 100, 100);
	put_record(&bytes, 1, 1, 1, 1 << 20, 1 << 20);
	put_record(&bytes, 1, 2, 2, 100, 100);

	struct outcome *outcome = read_bytes(&bytes, BLOCK);

	assert_int_equal(outcome->n, 3);
	assert_int_equal(outcome->frames[1].cap_len, 1 << 20);
	assert_only(outcome, 0);
}

// Every cut, from inside the file header to the last byte but one.
static void test_a_cut_file_gives_its_whole_frames_and_says_where(void **state)
{
	for (size_t len = 4; len < record_at(3); len++) {
		struct bytes bytes = pcap_of(3);
		bytes.len = len;
		size_t n_whole = len < record_at(0) ? 0 : (len - record_at(0)) / 116;
		size_t last = len < record_at(0) ? 0 : record_at(n_whole);

		struct outcome *outcome = read_bytes(&bytes, BLOCK);

		assert_int_equal(outcome->n, n_whole);
		if (len == last)
			assert_int_equal(outcome->report.notes[CAPTURE_CUT_OFF].count, 0);
		else
			assert_note(outcome, CAPTURE_CUT_OFF, 1, last, len - last);
		assert_int_equal(outcome->report.notes[CAPTURE_EMPTY].count, n_whole == 0 ? 1 : 0);
	}
}

// Any bit of either length, in either byte order: the others are given, and it is said.
static void test_a_flipped_bit_of_a_length_costs_one_frame(void **state)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		struct bytes bytes = pcap_of(300);
		flip(&bytes, record_at(100) + 8 + bit / 32 * 4, UINT32_C(1) << bit % 32);

		struct outcome *outcome = read_bytes(&bytes, BLOCK);

		const struct capture_note *notes = outcome->report.notes;
		assert_true(outcome->n == 299 || outcome->n == 300);
		assert_true(notes[CAPTURE_BAD_LENGTH].count + notes[CAPTURE_SNAPPED].count == 1);
		assert_int_equal(notes[CAPTURE_BAD_LENGTH].count > 0
					 ? notes[CAPTURE_BAD_LENGTH].first_offset
					 : notes[CAPTURE_SNAPPED].first_offset,
			record_at(100));
		assert_int_equal(outcome->frames[outcome->n - 1].first, frame_byte(299, 0));
		assert_int_equal(outcome->frames[99].first, frame_byte(99, 0));
		if (outcome->n == 299) {
			assert_note(outcome, CAPTURE_RESYNCHRONISED, 1, record_at(100), 116);
			assert_int_equal(outcome->frames[100].first, frame_byte(101, 0));
		}
		assert_int_equal(notes[CAPTURE_UNREADABLE].count, 0);
	}
}

static void test_a_flipped_length_is_named_with_its_offset(void **state)
{
	struct bytes bytes = pcap_of(300);
	char text[256];

	flip(&bytes, record_at(7) + 8, UINT32_C(1) << 24);
	struct outcome *outcome = read_bytes(&bytes, BLOCK);

	assert_note(outcome, CAPTURE_BAD_LENGTH, 1, record_at(7), 100 + (1 << 24));
	capture_note_text(&outcome->report, CAPTURE_BAD_LENGTH, "in.pcap", text, sizeof(text));
	assert_string_equal(text, "in.pcap: record at byte 836 claims an impossible length, "
				  "16777316 bytes; 1 such");
}

static void test_a_flipped_length_near_the_end_is_no_cut(void **state)
{
	for (size_t i = 1; i < 9; i++) {
		struct bytes bytes = pcap_of(10);
		flip(&bytes, record_at(i) + 8, 1 << 16);

		struct outcome *outcome = read_bytes(&bytes, 1 << 20);

		assert_int_equal(outcome->n, 9);
		assert_note(outcome, CAPTURE_BAD_LENGTH, 1, record_at(i), 100 + (1 << 16));
		assert_int_equal(outcome->report.notes[CAPTURE_CUT_OFF].count, 0);
	}
}

static void test_an_impossible_fraction_is_passed_over(void **state)
{
	struct bytes bytes = pcap_of(50);

	flip(&bytes, record_at(20) + 4, UINT32_C(1) << 31);
	struct outcome *outcome = read_bytes(&bytes, BLOCK);

	assert_int_equal(outcome->n, 49);
	assert_note(outcome, CAPTURE_BAD_TIME, 1, record_at(20), 20000 + (UINT64_C(1) << 31));
	assert_note(outcome, CAPTURE_RESYNCHRONISED, 1, record_at(20), 116);
}

static void test_a_hole_of_zeros_is_passed_over(void **state)
{
	struct bytes bytes = pcap_of(2000);

	memset(bytes.at + record_at(500) + 50, 0, 4096);
	memset(bytes.at + record_at(500), 0, 16); // so that no frame is half right
	struct outcome *outcome = read_bytes(&bytes, BLOCK);

	// 500 to 535 lie in the hole.
	assert_int_equal(outcome->n, 2000 - 36);
	assert_int_equal(outcome->frames[500].first, frame_byte(536, 0));
	assert_note(outcome, CAPTURE_RESYNCHRONISED, 1, record_at(500), 36 * 116);
}

static void test_what_never_makes_sense_again_ends_the_file(void **state)
{
	struct bytes bytes = pcap_of(100);

	for (size_t i = 0; i < 3 << 20; i++)
		put(&bytes, "\xff", 1);
	struct outcome *outcome = read_bytes(&bytes, BLOCK);

	assert_int_equal(outcome->n, 100);
	assert_note(outcome, CAPTURE_UNREADABLE, 1, record_at(100), 0);
	assert_true(outcome->report.n_bytes < (5 << 20));
}

static void test_snapped_frames_are_counted(void **state)
{
	// At the file's snap length, and at another.
	static const uint32_t cap_lens[] = {64, 40};

	for (size_t k = 0; k < 2; k++) {
		struct bytes bytes = {0};
		put_pcap_header(&bytes, TEST_PCAP_US, 64, 1);
		for (uint32_t i = 0; i < 300; i++)
			put_record(&bytes, 5 + i * 86400, i, i, cap_lens[k], 1500);

		struct outcome *outcome = read_bytes(&bytes, BLOCK);

		assert_int_equal(outcome->n, 300);
		assert_only(outcome, 1 << CAPTURE_SNAPPED);
		assert_note(outcome, CAPTURE_SNAPPED, 300, TEST_PCAP_HEADER, cap_lens[k]);
		assert_int_equal(outcome->frames[299].wire_len, 1500);
	}
}

static void test_a_damaged_wire_length_is_found_in_any_block_size(void **state)
{
	// Snapped at the file's length, as ordinary records are.
	for (size_t block = 20; block < 2000; block += 60) {
		struct bytes bytes = {0};
		put_pcap_header(&bytes, TEST_PCAP_NS, 64, 1);
		for (uint32_t i = 0; i < 20; i++)
			put_record(&bytes, 5, i, i, 64, i == 7 ? 0xffffff01 : 1500);

		struct outcome *outcome = read_bytes(&bytes, block);

		assert_int_equal(outcome->n, 19);
		assert_note(outcome, CAPTURE_BAD_LENGTH, 1, TEST_PCAP_HEADER + 7 * (16 + 64),
			0xffffff01);
	}
}

static void test_more_bytes_than_on_the_wire_are_given_and_counted(void **state)
{
	struct bytes bytes = {0};

	put_pcap_header(&bytes, TEST_PCAP_US, 65535, 1);
	for (uint32_t i = 0; i < 100; i++)
		put_record(&bytes, 5, i, i, 64, 60);
	struct outcome *outcome = read_bytes(&bytes, BLOCK);

	assert_int_equal(outcome->n, 100);
	assert_only(outcome, 1 << CAPTURE_BAD_LENGTH);
	assert_int_equal(outcome->report.notes[CAPTURE_BAD_LENGTH].count, 100);
	assert_int_equal(outcome->frames[99].wire_len, 64);
}

static void test_time_running_backwards_is_counted_and_given(void **state)
{
	struct bytes bytes = {0};
	static const uint32_t fractions[] = {10, 20, 15, 19, 20, 30};

	put_pcap_header(&bytes, TEST_PCAP_NS, 65535, 1);
	for (uint32_t i = 0; i < 6; i++)
		put_record(&bytes, 5, fractions[i], i, 100, 100);
	struct outcome *outcome = read_bytes(&bytes, BLOCK);

	assert_int_equal(outcome->n, 6);
	assert_only(outcome, 1 << CAPTURE_BACKWARDS);
	assert_note(outcome, CAPTURE_BACKWARDS, 2, record_at(2), 5);
	assert_int_equal(outcome->frames[2].ts_ns, 5000000015);
}

static void test_another_link_type_is_refused_by_name(void **state)
{
	struct bytes bytes = {0};
	struct error error = {0};

	put_pcap_header(&bytes, TEST_PCAP_NS, 65535, 113);
	assert_int_equal(refuse_bytes(&bytes, &error), -ENOTSUP);
	assert_string_equal(error.text, "test: has link type 113 (Linux cooked), not Ethernet (1); "
					"capture on an Ethernet interface");
}

static void test_the_bits_for_a_checksum_length_are_no_link_type(void **state)
{
	struct bytes bytes = {0};

	put_pcap_header(&bytes, TEST_PCAP_NS, 65535, 0x44000001);
	put_record(&bytes, 5, 0, 0, 100, 100);
	struct outcome *outcome = read_bytes(&bytes, BLOCK);

	assert_int_equal(outcome->n, 1);
}

static void test_another_version_is_refused(void **state)
{
	struct bytes bytes = pcap_of(1);
	struct error error = {0};

	bytes.at[4] = 3;
	assert_int_equal(refuse_bytes(&bytes, &error), -EINVAL);
	assert_non_null(strstr(error.text, "version 3"));
}

static void test_a_header_without_frames_is_empty(void **state)
{
	struct bytes bytes = pcap_of(0);
	struct outcome *outcome = read_bytes(&bytes, BLOCK);

	assert_int_equal(outcome->n, 0);
	assert_only(outcome, 1 << CAPTURE_EMPTY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_byte_order_and_resolution_gives_the_same_frames),
		cmocka_unit_test(test_a_declared_fcs_is_no_part_of_a_frame),
		cmocka_unit_test(test_an_fcs_of_unknown_length_stays),
		cmocka_unit_test(test_seconds_are_unsigned),
		cmocka_unit_test(test_any_block_size_gives_every_frame),
		cmocka_unit_test(test_a_record_larger_than_a_block_is_whole),
		cmocka_unit_test(test_a_cut_file_gives_its_whole_frames_and_says_where),
		cmocka_unit_test(test_a_flipped_bit_of_a_length_costs_one_frame),
		cmocka_unit_test(test_a_flipped_length_is_named_with_its_offset),
		cmocka_unit_test(test_a_flipped_length_near_the_end_is_no_cut),
		cmocka_unit_test(test_an_impossible_fraction_is_passed_over),
		cmocka_unit_test(test_a_hole_of_zeros_is_passed_over),
		cmocka_unit_test(test_what_never_makes_sense_again_ends_the_file),
		cmocka_unit_test(test_snapped_frames_are_counted),
		cmocka_unit_test(test_a_damaged_wire_length_is_found_in_any_block_size),
		cmocka_unit_test(test_more_bytes_than_on_the_wire_are_given_and_counted),
		cmocka_unit_test(test_time_running_backwards_is_counted_and_given),
		cmocka_unit_test(test_another_link_type_is_refused_by_name),
		cmocka_unit_test(test_the_bits_for_a_checksum_length_are_no_link_type),
		cmocka_unit_test(test_another_version_is_refused),
		cmocka_unit_test(test_a_header_without_frames_is_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
