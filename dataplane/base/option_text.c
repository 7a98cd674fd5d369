// What options say of themselves: help, --describe, and the one text of each value that was
// understood. What a text means is option_spec.c's, and in tests/data/grammar.txt.

#include "cpu_list.h"
#include "json_writer.h"
#include "option_spec.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

enum { CPUS_TEXT_LEN = 5 * CPU_SETSIZE }; // no list of cores is longer

static const char *const type_names[] = {
	[OPTION_FLAG] = "flag",
	[OPTION_UINT] = "uint",
	[OPTION_DURATION] = "duration",
	[OPTION_STRING] = "string",
	[OPTION_CHOICE] = "choice",
	[OPTION_DOUBLE] = "double",
	[OPTION_LIST] = "list",
	[OPTION_CORE] = "core",
	[OPTION_CPUS] = "cpus",
	[OPTION_SIGNED_DURATION] = "signed duration",
	[OPTION_SIZE] = "size",
};

static const char *const type_metavars[] = {
	[OPTION_FLAG] = "",
	[OPTION_UINT] = "N",
	[OPTION_DURATION] = "TIME",
	[OPTION_STRING] = "TEXT",
	[OPTION_CHOICE] = "CHOICE",
	[OPTION_DOUBLE] = "NUMBER",
	[OPTION_LIST] = "ITEM",
	[OPTION_CORE] = "CPU",
	[OPTION_CPUS] = "CPUS",
	[OPTION_SIGNED_DURATION] = "TIME",
	[OPTION_SIZE] = "SIZE",
};

const char *option_metavar(const struct option_spec *spec)
{
	return spec->metavar != NULL ? spec->metavar : type_metavars[spec->type];
}

static void describe(struct json *json, const struct option_spec *spec)
{
	json_object(json, NULL);
	json_text(json, "name", spec->name);
	json_text(json, "type", type_names[spec->type]);
	json_text(json, "default", spec->default_text);
	json_text(json, "help", spec->help);
	if (spec->type != OPTION_FLAG)
		json_text(json, "metavar", option_metavar(spec));
	if (spec->type == OPTION_CHOICE) {
		json_array(json, "choices");
		for (size_t i = 0; spec->choices[i] != NULL; i++)
			json_text(json, NULL, spec->choices[i]);
		json_end(json);
	}
	if (spec->min != 0 || spec->max != 0) {
		json_u64(json, "min", spec->min);
		json_u64(json, "max", spec->max);
	}
	json_end(json);
}

void option_describe(struct json *json, const struct option_spec *specs, size_t n)
{
	json_array(json, "options");
	for (size_t i = 0; i < n; i++)
		describe(json, &specs[i]);
	json_end(json);
}

static void print_number(struct json *json, const char *name, uint64_t value, const char *unit)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 "%s", value, unit);
	json_text(json, name, text);
}

static void print_double(struct json *json, const char *name, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.17g", value);
	json_text(json, name, text);
}

static void print_core(struct json *json, const char *name, int core)
{
	if (core >= 0)
		print_number(json, name, (uint64_t)core, "");
	else
		json_null(json, name);
}

static void print_cpus(struct json *json, const char *name, const cpu_set_t *cpus)
{
	char text[CPUS_TEXT_LEN];

	json_text(
		json, name, CPU_COUNT(cpus) > 0 ? cpu_list_format(cpus, text, sizeof(text)) : NULL);
}

static void print_span(struct json *json, const char *name, int64_t ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64 "ns", ns);
	json_text(json, name, ns != INT64_MIN ? text : NULL);
}

static void print_list(struct json *json, const char *name, const struct option_list *list)
{
	json_array(json, name);
	for (size_t i = 0; i < list->n; i++)
		json_text(json, NULL, list->items[i]);
	json_end(json);
}

// A flat switch: one case a type.
static void print_value(struct json *json, const struct option_spec *spec, const void *at)
{
	switch (spec->type) {
	case OPTION_FLAG:
		json_bool(json, spec->name, *(const bool *)at);
		return;
	case OPTION_UINT:
	case OPTION_SIZE:
		print_number(json, spec->name, *(const uint64_t *)at, "");
		return;
	case OPTION_DURATION:
		print_number(json, spec->name, *(const uint64_t *)at, "ns");
		return;
	case OPTION_SIGNED_DURATION:
		print_span(json, spec->name, *(const int64_t *)at);
		return;
	case OPTION_STRING:
		json_text(json, spec->name, *(const char *const *)at);
		return;
	case OPTION_CHOICE:
		json_text(json, spec->name, spec->choices[*(const uint32_t *)at]);
		return;
	case OPTION_DOUBLE:
		print_double(json, spec->name, *(const double *)at);
		return;
	case OPTION_LIST:
		print_list(json, spec->name, at);
		return;
	case OPTION_CORE:
		print_core(json, spec->name, *(const int *)at);
		return;
	case OPTION_CPUS:
		print_cpus(json, spec->name, at);
		return;
	}
}

void option_values(
	struct json *json, const struct option_spec *specs, size_t n, const void *options)
{
	for (size_t i = 0; i < n; i++)
		print_value(json, &specs[i], (const char *)options + specs[i].offset);
}
