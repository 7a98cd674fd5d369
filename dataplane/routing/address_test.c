#include "address.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_prefixes_of_both_families(void **state)
{
	static const struct {
		const char *text, *address;
		unsigned int depth;
	} good[] = {
		{"10.0.0.0/8", "10.0.0.0", 8},
		{"0.0.0.0/0", "0.0.0.0", 0},
		{"192.0.2.1", "192.0.2.1", 32},
		{"2001:db8::/32", "2001:db8::", 32},
		{"::/0", "::", 0},
		{"2001:db8::1", "2001:db8::1", 128},
	};
	char text[ADDRESS_TEXT_MAX];
	struct prefix prefix;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(prefix_parse(good[i].text, &prefix), 0);
		assert_string_equal(address_text(&prefix.address, text), good[i].address);
		assert_int_equal(prefix.depth, good[i].depth);
	}
}

static void test_what_is_no_prefix_is_refused(void **state)
{
	static const char *const bad[] = {"", "/8", "10.0.0.0/", "10.0.0.0/33", "10/8",
		"10.0.0.0/-1", "10.0.0.0/ 8", "10.0.0.0/0008", "10.0.0.256/32", "2001:db8::/129",
		"::1/x", "1:2:3:4:5:6:7:8:9/64", "10.0.0.0/8/8", " 10.0.0.0/8",
		"0123456789012345678901234567890123456789012345678901234567890/8"};
	struct prefix prefix;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (prefix_parse(bad[i], &prefix) != -EINVAL)
			fail_msg("%s was taken", bad[i]);
}

static void test_masks_and_last_addresses(void **state)
{
	static const struct {
		const char *text, *first, *last;
	} rows[] = {
		{"10.1.2.3/8", "10.0.0.0", "10.255.255.255"},
		{"192.0.2.130/25", "192.0.2.128", "192.0.2.255"},
		{"192.0.2.1/31", "192.0.2.0", "192.0.2.1"},
		{"192.0.2.1/32", "192.0.2.1", "192.0.2.1"},
		{"192.0.2.1/0", "0.0.0.0", "255.255.255.255"},
		{"2001:db8::ff/121", "2001:db8::80", "2001:db8::ff"},
	};
	char text[ADDRESS_TEXT_MAX];
	struct prefix prefix;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(prefix_parse(rows[i].text, &prefix), 0);
		prefix.address = address_masked(&prefix.address, prefix.depth);
		assert_string_equal(address_text(&prefix.address, text), rows[i].first);
		const struct address last = prefix_last(&prefix);
		assert_string_equal(address_text(&last, text), rows[i].last);
	}
}

static void test_mac_addresses_of_one_station(void **state)
{
	static const char *const bad[] = {"", "02:00:00:00:00", "02:00:00:00:00:0",
		"02:00:00:00:00:01:", "02-00-00-00-00-01", "0g:00:00:00:00:01", "01:00:5e:00:00:01",
		"ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00"};
	uint8_t mac[MAC_LEN];

	assert_int_equal(mac_parse("02:aB:00:00:00:0f", mac), 0);
	assert_memory_equal(mac, ((const uint8_t[]){2, 0xab, 0, 0, 0, 15}), MAC_LEN);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (mac_parse(bad[i], mac) != -EINVAL)
			fail_msg("%s was taken", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prefixes_of_both_families),
		cmocka_unit_test(test_what_is_no_prefix_is_refused),
		cmocka_unit_test(test_masks_and_last_addresses),
		cmocka_unit_test(test_mac_addresses_of_one_station),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
