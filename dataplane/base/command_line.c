#include "command_line.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool is_positional(const struct command_line *line, const struct option_spec *spec)
{
	for (size_t i = 0; line->positionals != NULL && line->positionals[i] != NULL; i++)
		if (strcmp(line->positionals[i], spec->name) == 0)
			return true;
	return false;
}

enum { HELP_COLUMN = 28, HELP_WIDTH = 80, HELP_LEAST = HELP_COLUMN + 20 };

// How wide the terminal is, found as Python's shutil finds it for taut's own help.
static int help_width(void)
{
	const char *columns = getenv("COLUMNS");
	int width = columns != NULL ? atoi(columns) : 0;
	struct winsize size;

	if (width <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		width = size.ws_col;
	if (width <= 0 || width > HELP_WIDTH)
		width = HELP_WIDTH;
	return (width < HELP_LEAST ? HELP_LEAST : width) - 2;
}

// Words from column `at` on, those that do not fit below one another from `indent` on. No word is
// broken.
static void print_words(const char *text, int indent, int at)
{
	int width = help_width();

	while (*(text += strspn(text, " ")) != '\0') {
		int len = (int)strcspn(text, " ");
		if (at > indent && at + 1 + len > width) {
			printf("\n%*s", indent, "");
			at = indent;
		}
		at += printf("%s%.*s", at > indent ? " " : "", len, text);
		text += len;
	}
	printf("\n");
}

static void print_option(const struct command_line *line, const struct option_spec *spec)
{
	char text[512];
	const char *metavar = spec->type == OPTION_CHOICE ? "" : option_metavar(spec);
	int used;

	if (is_positional(line, spec))
		used = printf("  %s", metavar);
	else
		used = printf(
			"  --%s%s%s", spec->name, spec->type == OPTION_FLAG ? "" : " ", metavar);
	for (size_t i = 0; spec->type == OPTION_CHOICE && spec->choices[i] != NULL; i++)
		used += printf("%s%s", i > 0 ? "|" : "", spec->choices[i]);
	if (used + 2 > HELP_COLUMN) {
		printf("\n");
		used = 0;
	}
	printf("%*s", HELP_COLUMN - used, "");
	if (spec->default_text != NULL && *spec->default_text != '\0' && spec->type != OPTION_FLAG)
		snprintf(text, sizeof(text), "%s [default: %s]", spec->help, spec->default_text);
	else
		snprintf(text, sizeof(text), "%s", spec->help);
	print_words(text, HELP_COLUMN, HELP_COLUMN);
}

// `called`: how the program was called, `taut-inject` or `taut inject`.
static void print_help(const struct command_line *line, const char *called)
{
	int used = printf("Usage: %s", called);

	print_words(line->usage, (int)strlen("Usage: "), used);
	printf("\n  ");
	print_words(line->summary, 2, 2);
	printf("\nOptions:\n");
	for (size_t i = 0; i < line->n_options; i++)
		print_option(line, &line->options[i]);
	printf("  --describe                say all of this as JSON\n"
	       "  --version                 print the version\n"
	       "  -h, --help                show this message\n");
	printf("\nExamples:\n");
	for (size_t i = 0; line->examples[i] != NULL; i++)
		printf("  %s %s\n", called, line->examples[i]);
}

static void print_description(const struct command_line *line)
{
	struct json json = {.out = stdout};

	json_object(&json, NULL);
	json_text(&json, "program", line->program);
	json_text(&json, "version", line->version);
	json_text(&json, "summary", line->summary);
	option_describe(&json, line->options, line->n_options);
	if (line->describe != NULL)
		line->describe(&json);
	json_end(&json);
	(void)json_done(&json);
}

static bool answer(const struct command_line *line, const char *called, const char *name)
{
	bool is_taut = strncmp(called, "taut ", strlen("taut ")) == 0;

	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		print_help(line, is_taut ? called : line->program);
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
	void *options, const struct option_spec **found, struct error *error)
{
	const char *arg = argv[(*at)++];
	size_t len = strcspn(arg, "=");
	const char *value = arg[len] == '=' ? arg + len + 1 : NULL;

	*found = len > 2 && strncmp(arg, "--", 2) == 0 ? find(line, arg + 2, len - 2) : NULL;
	if (*found == NULL) {
		error_set(error, "%s: no such option; see --help", arg);
		return -EINVAL;
	}
	if (value == NULL && (*found)->type == OPTION_FLAG)
		value = "on";
	if (value == NULL && *at < argc)
		value = argv[(*at)++];
	if (value == NULL) {
		error_set(error, "%s: a value is missing; %s", arg, (*found)->help);
		return -EINVAL;
	}
	return option_parse_value(NULL, *found, value, options, error);
}

int command_line_parse(const struct command_line *line, int argc, char *const *argv, void *options,
	int *n_used, struct error *error)
{
	uint64_t seen = 0; // one bit an option; no program has 64
	size_t n_words = 0;
	int at = 1;

	option_defaults(line->options, line->n_options, options);
	while (at < argc && strcmp(argv[at], "--") != 0) {
		const struct option_spec *spec;
		if (answer(line, argv[0], argv[at]))
			return COMMAND_LINE_DONE;
		int err;
		spec = next_positional(line, argv[at], &n_words);
		if (spec != NULL)
			err = option_parse_value(NULL, spec, argv[at++], options, error);
		else
			err = parse_option(line, argc, argv, &at, options, &spec, error);
		if (err < 0)
			return err;
		seen |= UINT64_C(1) << (spec - line->options);
	}
	for (size_t i = 0; i < line->n_options; i++) {
		const struct option_spec *spec = &line->options[i];
		if (spec->default_text != NULL || spec->type == OPTION_LIST ||
			seen & UINT64_C(1) << i)
			continue;
		error_set(error, "--%s: missing; %s", spec->name, spec->help);
		return -EINVAL;
	}
	*n_used = at < argc ? at + 1 : argc;
	return COMMAND_LINE_RUN;
}
