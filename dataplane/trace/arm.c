#include "arm.h"

#include "cpu_text.h"
#include "tracefs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILTER_LEN = 4000 }; // the kernel takes a page

// The filter that lets through what a row wants.
static int filter_of(
	const struct event_row *row, const struct trace_config *config, char *text, size_t len)
{
	int err = 0;

	text[0] = '\0';
	switch (row->scope) {
	case SCOPE_CORE:
		break;
	case SCOPE_THREAD:
		err = thread_text_filter(
			"common_pid", config->threads, config->n_threads, text, len);
		break;
	case SCOPE_TARGET:
		err = row->target_is_mask
			      ? cpu_text_mask_filter(row->target, &config->cores, text, len)
			      : cpu_text_filter(row->target, &config->cores, text, len);
		break;
	case SCOPE_WOKEN:
		err = cpu_text_filter(row->target, &config->cores, text, len);
		size_t used = strlen(text);
		if (err < 0 || config->n_threads == 0 || used + 4 >= len)
			break;
		memcpy(text + used, " || ", 5);
		// Without room for all threads, at least what wakes on the cores.
		if (thread_text_filter("pid", config->threads, config->n_threads, text + used + 4,
			    len - used - 4) < 0)
			text[used] = '\0';
		break;
	}
	return err;
}

static bool is_on_all(const struct event_row *row)
{
	return row->scope == SCOPE_TARGET || row->scope == SCOPE_WOKEN;
}

static enum row_state arm_row(struct collector *collector, const struct event_row *row)
{
	const struct trace_config *config = collector->config;
	const struct instance *instance = is_on_all(row) ? collector->all : collector->core;
	char name[128], filter[FILTER_LEN];

	if ((config->groups & UINT32_C(1) << row->group) == 0)
		return ROW_OFF;
	snprintf(name, sizeof(name), "events/%s/format", row->name);
	char *format = tracefs_read(config->root, name);
	if (format == NULL)
		return ROW_ABSENT;
	if (row->scope == SCOPE_THREAD && config->n_threads == 0) {
		free(format);
		return ROW_NO_THREAD;
	}
	int err = decoder_add(collector->decoder, row, format);
	free(format);
	if (err < 0)
		return ROW_CHANGED;
	if (filter_of(row, config, filter, sizeof(filter)) < 0)
		return ROW_FILTER_TOO_LONG;
	err = instance_enable(instance, row->name, filter);
	// Filters on masks came after the events: the decoder leaves out the rest.
	if (err == -EINVAL && row->target_is_mask)
		err = instance_enable(instance, row->name, "0");
	return err < 0 ? ROW_REFUSED : ROW_ON;
}

int arm_events(struct collector *collector, struct error *error)
{
	size_t n_on = 0;

	for (size_t i = 0; i < n_event_rows; i++) {
		collector->rows[i] = arm_row(collector, &event_rows[i]);
		n_on += collector->rows[i] == ROW_ON;
	}
	if (n_on > 0)
		return 0;
	error_set(error, "%s: none of the events asked for can be recorded; ask for other --events",
		collector->config->root);
	return -ENOENT;
}

const char *arm_why_missing(enum row_state state)
{
	switch (state) {
	case ROW_ON:
		return NULL;
	case ROW_OFF:
		return "it was not asked for";
	case ROW_ABSENT:
		return "this kernel or machine has no such event";
	case ROW_CHANGED:
		return "its fields are not those known here";
	case ROW_REFUSED:
		return "the kernel refused it";
	case ROW_FILTER_TOO_LONG:
		return "a filter that names them is longer than the kernel takes; name fewer "
		       "threads";
	case ROW_NO_THREAD:
		return "it is recorded of watched threads only, and none was named";
	}
	return NULL;
}
