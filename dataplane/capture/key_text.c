// What a key is, as text: key_spec_parse and key_spec_text.

#include "key.h"
#include "probe_format.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OFFSET = UINT16_MAX };

static void set_spec(struct key_spec *spec, enum key_kind kind, size_t n_bytes, size_t frame_bytes)
{
	spec->kind = kind;
	spec->n_bytes = (uint32_t)n_bytes;
	spec->stride = (spec->n_bytes + (uint32_t)sizeof(uint32_t) + 7) & ~UINT32_C(7);
	spec->frame_bytes = (uint32_t)frame_bytes;
}

static const char ranges_help[] =
	"write default, routed, network, probe or frame offsets, each with a mask if wanted: "
	"26-33,42-45/ffff0000";

// One offset; moves *at behind it. Returns -1 if there is none.
static int32_t parse_offset(const char **at)
{
	char *end;

	if (!isdigit((unsigned char)**at))
		return -1;
	unsigned long offset = strtoul(*at, &end, 10);
	*at = end;
	return offset <= MAX_OFFSET ? (int32_t)offset : -1;
}

static int hex_digit(char digit)
{
	if (!isxdigit((unsigned char)digit))
		return -1;
	return isdigit((unsigned char)digit) ? digit - '0'
					     : tolower((unsigned char)digit) - 'a' + 10;
}

// Exactly n_bytes of two digits each; moves *at behind them.
static const char *parse_mask(const char **at, uint8_t *mask, size_t n_bytes)
{
	for (size_t i = 0; i < n_bytes; i++) {
		int high = hex_digit((*at)[0]);
		int low = high < 0 ? -1 : hex_digit((*at)[1]);

		if (low < 0)
			return "the mask has fewer than two hex digits a byte";
		mask[i] = (uint8_t)(high << 4 | low);
		*at += 2;
	}
	return hex_digit(**at) < 0 ? NULL : "the mask has more than two hex digits a byte";
}

// Append one range to out; moves *at behind it. Returns what is wrong, NULL if nothing is.
static const char *parse_range(const char **at, struct key_spec *out)
{
	int32_t first = parse_offset(at);
	int32_t last = first;

	if (first >= 0 && **at == '-') {
		(*at)++;
		last = parse_offset(at);
	}
	if (first < 0 || last < 0)
		return "an offset from 0 to 65535 is wanted";
	if (last < first)
		return "the range ends before it begins";
	if (out->n_ranges == KEY_MAX_RANGES)
		return "more than 16 ranges";
	size_t len = (size_t)(last - first) + 1;
	if (out->n_bytes + len > KEY_MAX_BYTES)
		return "more than 124 bytes";
	uint8_t *mask = out->mask + out->n_bytes;
	memset(mask, 0xff, len);
	out->ranges[out->n_ranges++] = (struct key_range){(uint16_t)first, (uint16_t)last};
	size_t frame_bytes = (size_t)last + 1;
	set_spec(out, KEY_RANGES, out->n_bytes + len,
		frame_bytes > out->frame_bytes ? frame_bytes : out->frame_bytes);
	if (**at != '/')
		return NULL;
	(*at)++;
	return parse_mask(at, mask, len);
}

static int parse_ranges(const char *text, struct key_spec *out, struct error *error)
{
	const char *at = text;
	const char *range, *wrong;

	do {
		range = at;
		wrong = parse_range(&at, out);
		if (wrong == NULL && *at != ',' && *at != '\0')
			wrong = "a comma or the end is wanted behind a range";
	} while (wrong == NULL && *at++ == ',');
	if (wrong == NULL)
		return 0;
	error_set(error, "key \"%.60s\": \"%.*s\" at character %zu: %s; %s", text,
		(int)strcspn(range, ","), range, (size_t)(range - text) + 1, wrong, ranges_help);
	return -EINVAL;
}

int key_spec_parse(const char *text, struct key_spec *out, struct error *error)
{
	memset(out, 0, sizeof(*out));
	memset(out->mask, 0xff, sizeof(out->mask));
	if (text == NULL || strcmp(text, "default") == 0)
		set_spec(out, KEY_DEFAULT, KEY_HEAD_BYTES, KEY_HEAD_LEN);
	else if (strcmp(text, "routed") == 0)
		set_spec(out, KEY_ROUTED, KEY_HEAD_BYTES, KEY_HEAD_LEN);
	else if (strcmp(text, "network") == 0)
		set_spec(out, KEY_NETWORK, KEY_HEAD_BYTES, KEY_NETWORK_LEN);
	else if (strcmp(text, "probe") == 0)
		set_spec(out, KEY_PROBE, PROBE_ID_LEN, PROBE_OFFSET + PROBE_ID_LEN);
	else
		return parse_ranges(text, out, error);
	return 0;
}

// Append to text, which holds used bytes; what does not fit is cut off.
__attribute__((format(printf, 4, 5))) static size_t append(
	char *text, size_t len, size_t used, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int n = vsnprintf(text + used, len - used, format, args);
	va_end(args);
	return n < 0 ? used : used + (size_t)n < len ? used + (size_t)n : len - 1;
}

static void ranges_text(const struct key_spec *spec, char *text, size_t len)
{
	const uint8_t *mask = spec->mask;
	size_t used = 0;

	for (size_t i = 0; i < spec->n_ranges; i++) {
		const struct key_range *range = &spec->ranges[i];
		size_t n_bytes = (size_t)range->last - range->first + 1;
		bool masked = false;

		for (size_t j = 0; j < n_bytes; j++)
			masked = masked || mask[j] != 0xff;
		used = append(text, len, used, "%s%u-%u%s", i > 0 ? "," : "", range->first,
			range->last, masked ? "/" : "");
		for (size_t j = 0; masked && j < n_bytes; j++)
			used = append(text, len, used, "%02x", mask[j]);
		mask += n_bytes;
	}
}

void key_spec_text(const struct key_spec *spec, char *text, size_t len)
{
	static const char *const words[] = {
		[KEY_DEFAULT] = "default",
		[KEY_ROUTED] = "routed",
		[KEY_NETWORK] = "network",
		[KEY_PROBE] = "probe",
	};

	if (len == 0)
		return;
	text[0] = '\0';
	if (spec->kind == KEY_RANGES)
		ranges_text(spec, text, len);
	else
		append(text, len, 0, "%s", words[spec->kind]);
}
