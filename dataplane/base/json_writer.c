#include "json_writer.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>

// How many bytes the character takes that begins here; 0: none does (RFC 3629, section 4).
static size_t utf8_bytes(const unsigned char *at)
{
	// The first that needs so many bytes: in more than it needs a character is none.
	static const uint32_t first[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = *at < 0x80 ? 1 : *at < 0xc0 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;
	uint32_t value = n > 1 ? *at & (0x7fU >> n) : *at;

	if (n == 0 || *at >= 0xf8)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (at[i] & 0x3fU);
	}
	bool is_surrogate = value >= 0xd800 && value < 0xe000;
	return value >= first[n] && value <= 0x10ffff && !is_surrogate ? n : 0;
}

static void print_quoted(FILE *out, const char *text)
{
	fputc('"', out);
	for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
		size_t n = utf8_bytes(at);
		if (n == 0)
			fputs("\\ufffd", out);
		else if (*at == '"' || *at == '\\')
			fprintf(out, "\\%c", *at);
		else if (*at < 0x20)
			fprintf(out, "\\u%04x", *at);
		else
			fwrite(at, 1, n, out);
		at += n > 0 ? n : 1;
	}
	fputc('"', out);
}

static bool is_in_object(const struct json *json)
{
	return json->depth > 0 && json->closing[json->depth - 1] == '}';
}

static void print_comma(struct json *json)
{
	assert(json->depth > 0 || !json->has_members);
	if (json->has_members)
		fputc(',', json->out);
	json->has_members = true;
}

// What stands before every value: a comma, and in an object its name.
static void begin_value(struct json *json, const char *name)
{
	assert((name != NULL || json->has_name) == is_in_object(json));
	if (json->has_name) {
		assert(name == NULL);
		json->has_name = false;
		return;
	}
	print_comma(json);
	if (name == NULL)
		return;
	print_quoted(json->out, name);
	fputc(':', json->out);
}

static void open_with(struct json *json, const char *name, char opening, char closing)
{
	begin_value(json, name);
	assert(json->depth < JSON_DEPTH_MAX);
	json->closing[json->depth++] = closing;
	json->has_members = false;
	fputc(opening, json->out);
}

void json_object(struct json *json, const char *name)
{
	open_with(json, name, '{', '}');
}

void json_array(struct json *json, const char *name)
{
	open_with(json, name, '[', ']');
}

void json_end(struct json *json)
{
	assert(json->depth > 0 && !json->has_name);
	fputc(json->closing[--json->depth], json->out);
	json->has_members = true;
}

void json_name_u64(struct json *json, uint64_t name)
{
	assert(is_in_object(json) && !json->has_name);
	print_comma(json);
	fprintf(json->out, "\"%" PRIu64 "\":", name);
	json->has_name = true;
}

void json_text(struct json *json, const char *name, const char *text)
{
	begin_value(json, name);
	if (text != NULL)
		print_quoted(json->out, text);
	else
		fputs("null", json->out);
}

void json_u64(struct json *json, const char *name, uint64_t value)
{
	begin_value(json, name);
	fprintf(json->out, "%" PRIu64, value);
}

void json_i64(struct json *json, const char *name, int64_t value)
{
	begin_value(json, name);
	fprintf(json->out, "%" PRId64, value);
}

void json_bool(struct json *json, const char *name, bool value)
{
	json_raw(json, name, value ? "true" : "false");
}

void json_null(struct json *json, const char *name)
{
	json_raw(json, name, "null");
}

void json_fixed(struct json *json, const char *name, double value, int decimals)
{
	begin_value(json, name);
	if (isfinite(value))
		fprintf(json->out, "%.*f", decimals, value);
	else
		fputs("null", json->out);
}

void json_double(struct json *json, const char *name, double value, int digits)
{
	begin_value(json, name);
	if (isfinite(value))
		fprintf(json->out, "%.*g", digits, value);
	else
		fputs("null", json->out);
}

void json_raw(struct json *json, const char *name, const char *value)
{
	begin_value(json, name);
	fputs(value != NULL ? value : "null", json->out);
}

void json_fail(struct json *json, int err)
{
	if (json->error == 0)
		json->error = err;
}

int json_done(struct json *json)
{
	assert(json->depth == 0 && json->has_members);
	fputc('\n', json->out);
	if (ferror(json->out))
		json_fail(json, -EIO);
	return json->error;
}
