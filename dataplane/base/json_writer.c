#include "json_writer.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>

static void print_quoted(FILE *out, const char *text)
{
	fputc('"', out);
	for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
		if (*at == '"' || *at == '\\')
			fprintf(out, "\\%c", *at);
		else if (*at < 0x20)
			fprintf(out, "\\u%04x", *at);
		else
			fputc(*at, out);
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

int json_done(struct json *json)
{
	assert(json->depth == 0 && json->has_members);
	fputc('\n', json->out);
	return ferror(json->out) ? -EIO : 0;
}
