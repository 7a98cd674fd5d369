// Which interfaces have frames where blocks of a pcapng file are damaged.

#include "pcapng_test_env.h"

// The first has nanoseconds, the second microseconds: a packet of each at 1000 ns.
static struct bytes two_interfaces(void)
{
	struct bytes bytes = {0};

	put_section(&bytes);
	put_interface(&bytes, 1, 9, 0);
	put_interface(&bytes, 1, 6, 0);
	put_packet(&bytes, 0, 1000, 0, 60, 60);
	put_packet(&bytes, 1, 1, 1, 61, 61);
	return bytes;
}

static void test_an_interface_that_cannot_be_read_keeps_its_number(void **state)
{
	static const size_t lengths[] = {4, 24};

	for (size_t i = 0; i < 3; i++) {
		struct bytes bytes = two_interfaces();
		// Either length is damaged, or both say that it is too short.
		if (i < 2) {
			flip(&bytes, SECTION_LEN + lengths[i], 1 << 12);
		} else {
			memmove(bytes.at + SECTION_LEN + 16, bytes.at + SECTION_LEN + 28,
				bytes.len - SECTION_LEN - 28);
			bytes.len -= 12;
			flip(&bytes, SECTION_LEN + 4, 16 ^ 28);
			memcpy(bytes.at + SECTION_LEN + 12, bytes.at + SECTION_LEN + 4, 4);
		}

		struct outcome *outcome = read_bytes(&bytes, BLOCK);

		assert_int_equal(outcome->n, 1);
		assert_int_equal(outcome->frames[0].cap_len, 61);
		assert_int_equal(outcome->frames[0].ts_ns, 1000);
		assert_int_equal(
			outcome->report.notes[CAPTURE_BAD_LENGTH].first_offset, SECTION_LEN);
		assert_int_equal(outcome->report.notes[CAPTURE_OTHER_LINK_TYPE].count, 1);
	}
}

// Both lengths are damaged: what was there nobody knows.
static void test_behind_damage_a_section_has_no_further_interfaces(void **state)
{
	for (size_t n_before = 0; n_before < 2; n_before++) {
		struct bytes bytes = two_interfaces();
		flip(&bytes, SECTION_LEN + n_before * 28 + 4, 1 << 12);
		flip(&bytes, SECTION_LEN + n_before * 28 + 24, 1 << 12);
		put_interface(&bytes, 1, 6, 0);
		put_packet(&bytes, 1, 7, 2, 62, 62);
		put_section(&bytes);
		put_interface(&bytes, 1, 6, 0);
		put_packet(&bytes, 0, 2, 3, 63, 63);

		struct outcome *outcome = read_bytes(&bytes, BLOCK);

		assert_int_equal(outcome->n, n_before + 1);
		assert_int_equal(outcome->frames[0].ts_ns, n_before == 0 ? 2000 : 1000);
		assert_int_equal(outcome->frames[n_before].cap_len, 63);
		assert_int_equal(
			outcome->report.notes[CAPTURE_OTHER_LINK_TYPE].count, 3 - n_before);
	}
}

static void test_a_section_whose_length_is_damaged_has_its_interfaces(void **state)
{
	struct bytes bytes = two_interfaces();
	struct bytes second = two_interfaces();
	size_t at = bytes.len;

	put(&bytes, second.at, second.len);
	free(second.at);
	flip(&bytes, at + 4, 1 << 12);
	struct outcome *outcome = read_bytes(&bytes, BLOCK);

	assert_int_equal(outcome->n, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(outcome->frames[i].ts_ns, 1000);
	assert_note(outcome, CAPTURE_RESYNCHRONISED, 1, at, SECTION_LEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_interface_that_cannot_be_read_keeps_its_number),
		cmocka_unit_test(test_behind_damage_a_section_has_no_further_interfaces),
		cmocka_unit_test(test_a_section_whose_length_is_damaged_has_its_interfaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
