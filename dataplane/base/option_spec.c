#include "option_spec.h"

#include "cpu_list.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t ns;
};

// As core/units.py reads them; µs with the micro sign, and with the Greek letter.
static const struct unit units[] = {
	{"ns", 1},
	{"us", 1000},
	{"\u00b5s", 1000},
	{"\u03bcs", 1000},
	{"ms", 1000000},
	{"s", 1000000000},
	{"m", UINT64_C(60000000000)},
	{"min", UINT64_C(60000000000)},
	{"h", UINT64_C(3600000000000)},
};

// What is wrong with one value: option_parse_value says before it whose option it is.
__attribute__((format(printf, 2, 3))) static int complain(
	struct error *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	error_vset(error, format, args);
	va_end(args);
	return -EINVAL;
}

static int parse_uint(const char *text, uint64_t *out)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return *end == '\0' && errno == 0 ? 0 : -EINVAL;
}

// Whether text is that word, and behind it blanks at most.
static bool is_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	return strncmp(text, word, len) == 0 && text[len + strspn(text + len, " ")] == '\0';
}

// "1.5ms" in integers: the fraction loses nothing that is a whole number of nanoseconds.
static int parse_duration(const char *text, uint64_t *out)
{
	unsigned __int128 digits = 0;
	uint64_t scale = 1;
	bool in_fraction = false, any = false;

	text += strspn(text, " ");
	while (isdigit((unsigned char)*text) || (*text == '.' && any && !in_fraction)) {
		if (*text == '.') {
			in_fraction = true;
			if (!isdigit((unsigned char)*++text))
				return -EINVAL;
			continue;
		}
		any = true;
		digits = digits * 10 + (unsigned int)(*text++ - '0');
		if (in_fraction)
			scale *= 10;
		if (digits > UINT64_MAX || scale > UINT64_C(1000000000000))
			return -EINVAL;
	}
	text += strspn(text, " ");
	// Nothing is nothing in any unit.
	if (any && digits == 0 && *text == '\0') {
		*out = 0;
		return 0;
	}
	for (size_t i = 0; any && i < sizeof(units) / sizeof(units[0]); i++) {
		if (!is_word(text, units[i].name))
			continue;
		unsigned __int128 ns = digits * units[i].ns;
		if (ns % scale != 0 || ns / scale > INT64_MAX)
			return -EINVAL;
		*out = (uint64_t)(ns / scale);
		return 0;
	}
	return -EINVAL;
}

// A duration behind its sign, if it has one.
static int parse_signed_duration(const char *text, int64_t *out)
{
	uint64_t ns;

	text += strspn(text, " ");
	bool has_sign = *text == '-' || *text == '+';
	bool is_negative = *text == '-';
	text += has_sign;
	if ((has_sign && *text == ' ') || parse_duration(text, &ns) < 0)
		return -EINVAL;
	*out = is_negative ? -(int64_t)ns : (int64_t)ns;
	return 0;
}

static int parse_flag(const char *text, bool *out)
{
	static const char *const yes[] = {"", "on", "yes", "true", "1"};
	static const char *const no[] = {"off", "no", "false", "0"};

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		if (strcmp(text, yes[i]) == 0) {
			*out = true;
			return 0;
		}
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (strcmp(text, no[i]) == 0) {
			*out = false;
			return 0;
		}
	return -EINVAL;
}

static int check_range(const struct option_spec *spec, uint64_t value, struct error *error)
{
	const char *unit = spec->type == OPTION_DURATION ? " ns" : "";

	if (spec->min == 0 && spec->max == 0)
		return 0;
	if (value >= spec->min && (spec->max == 0 || value <= spec->max))
		return 0;
	if (spec->max == 0)
		return complain(error, "at least %" PRIu64 "%s", spec->min, unit);
	return complain(
		error, "accepted are %" PRIu64 " to %" PRIu64 "%s", spec->min, spec->max, unit);
}

static int parse_choice(
	const struct option_spec *spec, const char *text, uint32_t *out, struct error *error)
{
	char list[160] = "";

	for (uint32_t i = 0; spec->choices[i] != NULL; i++) {
		if (strcmp(spec->choices[i], text) == 0) {
			*out = i;
			return 0;
		}
		size_t used = strlen(list);
		snprintf(list + used, sizeof(list) - used, "%s%s", i > 0 ? ", " : "",
			spec->choices[i]);
	}
	return complain(error, "accepted are %s", list);
}

static int add_to_list(struct option_list *list, const char *text, struct error *error)
{
	if (list->n == OPTION_LIST_MAX)
		return complain(error, "at most %d of them", OPTION_LIST_MAX);
	list->items[list->n] = strdup(text);
	if (list->items[list->n] == NULL)
		return complain(error, "out of memory");
	list->n++;
	return 0;
}

static int parse_string(const char *text, const char **out, struct error *error)
{
	*out = strdup(text);
	return *out != NULL ? 0 : complain(error, "out of memory");
}

static int parse_double(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && *end == '\0' && *out - *out == 0 ? 0 : -EINVAL;
}

// Nothing said where the default says nothing either.
static bool is_left_to_the_program(const struct option_spec *spec, const char *text)
{
	return *text == '\0' && spec->default_text != NULL && *spec->default_text == '\0';
}

static int parse_span(
	const struct option_spec *spec, const char *text, int64_t *out, struct error *error)
{
	*out = INT64_MIN;
	if (is_left_to_the_program(spec, text) || parse_signed_duration(text, out) == 0)
		return 0;
	return complain(error, "a duration with its unit is needed, as 100us, -1.5ms, 50ns");
}

static int parse_core(
	const struct option_spec *spec, const char *text, int *out, struct error *error)
{
	uint64_t core;

	*out = -1;
	if (is_left_to_the_program(spec, text))
		return 0;
	if (parse_uint(text, &core) < 0 || core >= CPU_SETSIZE)
		return complain(error, "a core is a number; see lscpu");
	*out = (int)core;
	return 0;
}

static int parse_cpus(
	const struct option_spec *spec, const char *text, cpu_set_t *out, struct error *error)
{
	CPU_ZERO(out);
	if (is_left_to_the_program(spec, text) || cpu_list_parse(text, out) == 0)
		return 0;
	return complain(error, "not a list of cores; write it as 0-3,7");
}

static int parse_size(
	const struct option_spec *spec, const char *text, uint64_t *out, struct error *error)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} sizes[] = {{"", 1}, {"B", 1}, {"KB", 1 << 10}, {"KiB", 1 << 10}, {"MB", 1 << 20},
		{"MiB", 1 << 20}, {"GB", 1 << 30}, {"GiB", 1 << 30}};
	const uint64_t most = spec->max != 0 ? spec->max : UINT64_MAX;
	char *end = NULL;

	errno = 0;
	text += strspn(text, " ");
	*out = isdigit((unsigned char)*text) ? strtoull(text, &end, 10) : 0;
	end = end != NULL ? end + strspn(end, " ") : NULL;
	for (size_t i = 0; end != NULL && errno == 0 && i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (!is_word(end, sizes[i].name) || *out > most / sizes[i].bytes)
			continue;
		*out *= sizes[i].bytes;
		if (*out >= spec->min)
			return 0;
	}
	if (spec->max == 0)
		return complain(error, "wanted a size, as 8MB");
	return complain(error, "wanted a size from %" PRIu64 "KB to %" PRIu64 "MB, as 8MB",
		spec->min >> 10, spec->max >> 20);
}

// A flat switch: one case a type.
static int parse_typed(
	const struct option_spec *spec, const char *text, void *at, struct error *error)
{
	switch (spec->type) {
	case OPTION_FLAG:
		return parse_flag(text, at) == 0 ? 0 : complain(error, "accepted are on, off");
	case OPTION_UINT:
		if (parse_uint(text, at) < 0)
			return complain(error, "a whole number is needed");
		return check_range(spec, *(uint64_t *)at, error);
	case OPTION_DURATION:
		if (parse_duration(text, at) < 0)
			return complain(error,
				"a duration with its unit is needed, as 10s, 250ms, 100us, 50ns");
		return check_range(spec, *(uint64_t *)at, error);
	case OPTION_STRING:
		return parse_string(text, at, error);
	case OPTION_CHOICE:
		return parse_choice(spec, text, at, error);
	case OPTION_DOUBLE:
		return parse_double(text, at) == 0 ? 0 : complain(error, "a number is needed");
	case OPTION_LIST:
		return add_to_list(at, text, error);
	case OPTION_CORE:
		return parse_core(spec, text, at, error);
	case OPTION_CPUS:
		return parse_cpus(spec, text, at, error);
	case OPTION_SIGNED_DURATION:
		return parse_span(spec, text, at, error);
	case OPTION_SIZE:
		return parse_size(spec, text, at, error);
	}
	return complain(error, "unknown type");
}

int option_parse_value(const char *owner, const struct option_spec *spec, const char *text,
	void *options, struct error *error)
{
	int err = parse_typed(spec, text, (char *)options + spec->offset, error);

	if (err < 0 && owner == NULL)
		error_prefix(error, "--%s %s", spec->name, text);
	else if (err < 0)
		error_prefix(error, "%s: %s=%s", owner, spec->name, text);
	return err;
}

void option_defaults(const struct option_spec *specs, size_t n, void *options)
{
	struct error ignored; // defaults are correct: a unit test parses every table

	for (size_t i = 0; i < n; i++)
		if (specs[i].default_text != NULL && specs[i].type != OPTION_LIST)
			(void)parse_typed(&specs[i], specs[i].default_text,
				(char *)options + specs[i].offset, &ignored);
}

static const struct option_spec *find(const struct option_spec *specs, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(specs[i].name, name) == 0)
			return &specs[i];
	return NULL;
}

static int unknown_key(const char *owner, const struct option_spec *specs, size_t n,
	const char *key, struct error *error)
{
	error_set(error, "%s: %s: no such option; ", owner, key);
	if (n == 0)
		error_append(error, "it has none");
	for (size_t i = 0; i < n; i++)
		error_append(error, "%s%s", i > 0 ? ", " : "accepted are ", specs[i].name);
	return -EINVAL;
}

int option_parse_list(const char *owner, const struct option_spec *specs, size_t n,
	const char *text, void *options, struct error *error)
{
	uint64_t seen = 0; // one bit a spec; tables are far shorter than 64
	char *copy = strdup(text != NULL ? text : "");
	char *rest = copy;
	int err = 0;

	if (copy == NULL)
		return -ENOMEM;
	option_defaults(specs, n, options);
	while (err == 0 && rest != NULL && *copy != '\0') {
		char *key = strsep(&rest, ",");
		char *value = key;
		(void)strsep(&value, "=");
		const struct option_spec *spec = find(specs, n, key);
		if (spec == NULL) {
			err = unknown_key(owner, specs, n, key, error);
		} else if (seen & UINT64_C(1) << (spec - specs) && spec->type != OPTION_LIST) {
			error_set(error, "%s: %s: given twice; give it once", owner, key);
			err = -EINVAL;
		} else {
			seen |= UINT64_C(1) << (spec - specs);
			err = option_parse_value(
				owner, spec, value != NULL ? value : "", options, error);
		}
	}
	for (size_t i = 0; err == 0 && i < n; i++) {
		if (specs[i].default_text != NULL || specs[i].type == OPTION_LIST ||
			seen & UINT64_C(1) << i)
			continue;
		error_set(error, "%s: %s: missing; %s", owner, specs[i].name, specs[i].help);
		err = -EINVAL;
	}
	free(copy);
	return err;
}
