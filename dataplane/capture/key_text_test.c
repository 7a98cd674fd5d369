#include "error.h"
#include "key.h"
#include "key_test_env.h"

#include <errno.h>

static void specs_round_trip(void **state)
{
	const char *texts[] = {"default", "routed", "network", "probe", "26-33,42-45/ffff0000",
		"14-15/0fff", "0-123", "65535-65535", "9-9,8-8,9-9/80,0-1"};
	char text[KEY_TEXT_LEN];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct key_spec spec = parse(texts[i]);

		key_spec_text(&spec, text, sizeof(text));
		assert_string_equal(text, texts[i]);
		struct key_spec again = parse(text);
		assert_memory_equal(&again, &spec, sizeof(spec));
	}
}

static void longest_text_fits(void **state)
{
	char text[KEY_TEXT_LEN], longest[KEY_TEXT_LEN] = "", range[64];
	struct key_spec spec;

	for (size_t i = 0; i < KEY_MAX_RANGES; i++) {
		size_t n = i < 12 ? 8 : 7; // 124 in all
		snprintf(range, sizeof(range), "%s65000-%zu/%.*s", i > 0 ? "," : "", 64999 + n,
			(int)n * 2, "fefefefefefefefe");
		strcat(longest, range);
	}
	spec = parse(longest);
	key_spec_text(&spec, text, sizeof(text));
	assert_string_equal(text, longest);
	key_spec_text(&spec, text, 7); // a short buffer is not overrun
	assert_string_equal(text, "65000-");
	key_spec_text(&spec, text, 0);
}

static void bad_text_is_one_clear_line(void **state)
{
	static const struct {
		const char *text, *wanted;
	} cases[] = {
		{"", "\"\" at character 1: an offset"},
		{"defaults", "\"defaults\" at character 1: an offset"},
		{"12-", "\"12-\" at character 1: an offset"},
		{"12,", "\"\" at character 4: an offset"},
		{"12,,13", "\"\" at character 4: an offset"},
		{"12,-1", "\"-1\" at character 4: an offset"},
		{"12, 13", "\" 13\" at character 4: an offset"},
		{"0-65536", "an offset from 0 to 65535"},
		{"99999999999999999999", "an offset from 0 to 65535"},
		{"33-26", "\"33-26\" at character 1: the range ends before it begins"},
		{"12-13 ", "a comma or the end"},
		{"12-13/ff", "the mask has fewer"},
		{"12-13/fff", "the mask has fewer"},
		{"12-13/", "the mask has fewer"},
		{"12-13/0xff", "the mask has fewer"},
		{"12-13/ffffff", "the mask has more"},
		{"12-13/fffff", "the mask has more"},
		{"0-124", "more than 124 bytes"},
		{"0-99,0-24", "\"0-24\" at character 6: more than 124 bytes"},
		{"1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2", "\"2\" at character 33: more than 16 ranges"},
	};
	struct key_spec spec;
	struct error error = {0};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(key_spec_parse(cases[i].text, &spec, &error), -EINVAL);
		if (strstr(error.text, cases[i].wanted) == NULL)
			fail_msg("%s: %s", cases[i].text, error.text);
		assert_non_null(strstr(
			error.text, "write default, routed, network, probe or frame offsets"));
		assert_null(strchr(error.text, '\n'));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(specs_round_trip),
		cmocka_unit_test(longest_text_fits),
		cmocka_unit_test(bad_text_is_one_clear_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
