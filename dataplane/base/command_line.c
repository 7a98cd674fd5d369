#include "command_line.h"

#include "json.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { HELP_COLUMN = 28 };

static void print_help(const struct command_line *line)
{
	printf("%s: %s\n\nusage: %s %s\n\n", line->program, line->summary, line->program,
		line->usage);
	for (size_t i = 0; i < line->n_options; i++) {
		const struct option_spec *spec = &line->options[i];
		int used =
			printf("  --%s%s", spec->name, spec->type == OPTION_FLAG ? "" : " VALUE");
		printf("%*s%s", used < HELP_COLUMN ? HELP_COLUMN - used : 1, "", spec->help);
		if (spec->default_text != NULL && *spec->default_text != '\0' &&
			spec->type != OPTION_FLAG)
			printf(" [%s]", spec->default_text);
		printf("\n");
	}
	printf("  --describe, --version, --help\n");
}

static void print_description(const struct command_line *line)
{
	printf("{\"program\":\"%s\",\"version\":\"%s\",\"summary\":", line->program, line->version);
	json_string(stdout, line->summary);
	printf(",\"options\":");
	option_describe(stdout, line->options, line->n_options);
	if (line->describe != NULL)
		line->describe(stdout);
	printf("}\n");
}

static bool answer(const struct command_line *line, const char *name)
{
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		print_help(line);
	else if (strcmp(name, "--version") == 0)
		printf("%s %s\n", line->program, line->version);
	else if (strcmp(name, "--describe") == 0)
		print_description(line);
	else
		return false;
	return true;
}

static const struct option_spec *find(const struct command_line *line, const char *name, size_t len)
{
	for (size_t i = 0; i < line->n_options; i++)
		if (strlen(line->options[i].name) == len &&
			memcmp(line->options[i].name, name, len) == 0)
			return &line->options[i];
	return NULL;
}

// A word without a name: the next of the positional options, or NULL.
static const struct option_spec *next_positional(
	const struct command_line *line, const char *arg, size_t *n_words)
{
	bool is_word = arg[0] != '-' || arg[1] == '\0'; // "-" is standard input

	if (!is_word || line->positionals == NULL || line->positionals[*n_words] == NULL)
		return NULL;
	const char *name = line->positionals[(*n_words)++];
	return find(line, name, strlen(name));
}

// One option at argv[*at]; moves *at behind it and its value.
static int parse_option(const struct command_line *line, int argc, char *const *argv, int *at,
	void *options, const struct option_spec **found, char *error, size_t error_len)
{
	const char *arg = argv[(*at)++];
	size_t len = strcspn(arg, "=");
	const char *value = arg[len] == '=' ? arg + len + 1 : NULL;

	*found = len > 2 && strncmp(arg, "--", 2) == 0 ? find(line, arg + 2, len - 2) : NULL;
	if (*found == NULL) {
		snprintf(error, error_len, "%s: no such option; see --help", arg);
		return -EINVAL;
	}
	if (value == NULL && (*found)->type == OPTION_FLAG)
		value = "on";
	if (value == NULL && *at < argc)
		value = argv[(*at)++];
	if (value == NULL) {
		snprintf(error, error_len, "%s: a value is missing; %s", arg, (*found)->help);
		return -EINVAL;
	}
	return option_parse_value("options", *found, value, options, error, error_len);
}

int command_line_parse(const struct command_line *line, int argc, char *const *argv, void *options,
	int *n_used, char *error, size_t error_len)
{
	uint64_t seen = 0; // one bit an option; no program has 64
	size_t n_words = 0;
	int at = 1;

	option_defaults(line->options, line->n_options, options);
	while (at < argc && strcmp(argv[at], "--") != 0) {
		const struct option_spec *spec;
		if (answer(line, argv[at]))
			return COMMAND_LINE_DONE;
		int err;
		spec = next_positional(line, argv[at], &n_words);
		if (spec != NULL)
			err = option_parse_value(
				"options", spec, argv[at++], options, error, error_len);
		else
			err = parse_option(line, argc, argv, &at, options, &spec, error, error_len);
		if (err < 0)
			return err;
		seen |= UINT64_C(1) << (spec - line->options);
	}
	for (size_t i = 0; i < line->n_options; i++) {
		const struct option_spec *spec = &line->options[i];
		if (spec->default_text != NULL || spec->type == OPTION_LIST ||
			seen & UINT64_C(1) << i)
			continue;
		snprintf(error, error_len, "--%s: missing; %s", spec->name, spec->help);
		return -EINVAL;
	}
	*n_used = at < argc ? at + 1 : argc;
	return COMMAND_LINE_RUN;
}
