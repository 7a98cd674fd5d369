#include "trace_format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_LIMIT = 1 << 30 };

// The number behind key, within one line; -1 if there is none.
static long number_after(const char *line, const char *end, const char *key)
{
	const char *at = strstr(line, key);

	return at == NULL || at >= end ? -1 : strtol(at + strlen(key), NULL, 10);
}

// "unsigned long args[6]" is args: the last word of the declaration, without its dimension.
static bool parse_name(const char *from, const char *end, char *name)
{
	const char *stop = memchr(from, '[', (size_t)(end - from));

	// "__data_loc char[] name" has its brackets before the name.
	if (stop == NULL || stop[1] == ']')
		stop = end;
	const char *start = stop;
	while (start > from && start[-1] != ' ' && start[-1] != '*')
		start--;
	size_t len = (size_t)(stop - start);
	if (len == 0 || len >= TRACE_NAME_LEN)
		return false;
	memcpy(name, start, len);
	name[len] = '\0';
	return true;
}

// One line "field:int irq;	offset:8;	size:4;	signed:1;".
static bool parse_field(const char *line, struct trace_field *out)
{
	static const char key[] = "field:";
	const char *end = strchr(line, '\n');
	const char *from = strstr(line, key);

	if (end == NULL)
		end = line + strlen(line);
	if (from == NULL || from >= end)
		return false;
	from += sizeof(key) - 1;
	const char *stop = memchr(from, ';', (size_t)(end - from));
	long offset = number_after(line, end, "offset:");
	long size = number_after(line, end, "size:");
	if (stop == NULL || offset < 0 || offset > UINT16_MAX || size < 0 || size > SIZE_LIMIT)
		return false;
	*out = (struct trace_field){
		.offset = (uint16_t)offset,
		.size = (uint32_t)size,
		.is_signed = number_after(line, end, "signed:") == 1,
		.is_located = strncmp(from, "__data_loc ", 11) == 0,
	};
	return parse_name(from, stop, out->name);
}

int trace_format_parse(const char *text, struct trace_format *out)
{
	const char *id = strstr(text, "\nID: ");
	char *end;

	*out = (struct trace_format){0};
	if (id == NULL)
		return -EINVAL;
	unsigned long number = strtoul(id + 5, &end, 10);
	if (end == id + 5 || number > UINT16_MAX)
		return -EINVAL;
	out->id = (uint16_t)number;
	for (const char *line = strchr(id + 1, '\n'); line != NULL; line = strchr(line, '\n')) {
		line++;
		// What is printed may hold anything.
		if (strncmp(line, "print fmt", 9) == 0)
			break;
		if (out->n_fields < TRACE_FIELDS_MAX &&
			parse_field(line, &out->fields[out->n_fields]))
			out->n_fields++;
	}
	return out->n_fields > 0 ? 0 : -EINVAL;
}

const struct trace_field *trace_format_find(const struct trace_format *format, const char *name)
{
	for (size_t i = 0; i < format->n_fields; i++)
		if (strcmp(format->fields[i].name, name) == 0)
			return &format->fields[i];
	return NULL;
}

int trace_page_layout_parse(const char *text, struct trace_page_layout *out)
{
	bool has_stamp = false, has_commit = false, has_data = false;

	*out = (struct trace_page_layout){0};
	for (const char *line = text; line != NULL && *line != '\0';) {
		struct trace_field field;
		if (parse_field(line, &field) && strcmp(field.name, "timestamp") == 0) {
			out->stamp_offset = field.offset;
			has_stamp = field.size == 8;
		} else if (parse_field(line, &field) && strcmp(field.name, "commit") == 0) {
			out->commit_offset = field.offset;
			out->commit_size = (uint16_t)field.size;
			has_commit = field.size == 8 || field.size == 4;
		} else if (parse_field(line, &field) && strcmp(field.name, "data") == 0) {
			out->data_offset = field.offset;
			out->page_bytes = field.offset + field.size;
			has_data = field.offset >= 12;
		}
		line = strchr(line, '\n');
		line = line == NULL ? NULL : line + 1;
	}
	// What is read of a page's header lies before its data.
	bool is_before = out->stamp_offset + 8 <= out->data_offset &&
			 out->commit_offset + out->commit_size <= out->data_offset;
	return has_stamp && has_commit && has_data && is_before ? 0 : -EINVAL;
}
