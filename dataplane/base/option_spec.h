#pragma once

// Options as data. Programs, network functions, schedules and ports each declare a table of
// these; parsing, help, defaults and --describe all come from it. Nothing here allocates
// except the copies of strings (OPTION_STRING, OPTION_LIST), which live as long as the process.

// The table itself is public, too: network functions of one's own have one (nf/nf.h).

#include "error.h"

#include <stddef.h>
#include <stdint.h>

struct json; // json_writer.h

enum option_type {
	OPTION_FLAG, // bool
	OPTION_UINT, // uint64_t
	OPTION_DURATION, // uint64_t, ns: "10s" "250ms" "100us" "1h"; a bare number is refused
	OPTION_STRING, // const char *
	OPTION_CHOICE, // uint32_t, index into choices
	OPTION_DOUBLE, // double
	OPTION_LIST, // struct option_list: may be given several times; never required
	OPTION_CORE, // int; -1 for "", which only a default of "" allows: the program chooses
	OPTION_CPUS, // cpu_set_t, of "0-3,7"; empty for "", likewise
	// int64_t, ns: a duration, with - in front below zero: "-1.5us"; INT64_MIN for "", likewise
	OPTION_SIGNED_DURATION,
	OPTION_SIZE, // uint64_t, bytes: "8MB" "8 MiB" "512KB" or a bare number, powers of 1024
};

enum { OPTION_LIST_MAX = 32 };

struct option_list {
	const char *items[OPTION_LIST_MAX];
	size_t n;
};

struct option_spec {
	const char *name;
	enum option_type type;
	size_t offset; // of the value within the options struct
	const char *default_text; // NULL: required
	const char *help; // one line; says the unit
	const char *const *choices; // OPTION_CHOICE: NULL-terminated
	uint64_t min, max; // OPTION_UINT, _DURATION and _SIZE; both 0: unlimited
	const char *metavar; // what help calls the value; NULL: after its type, as TIME
};

// Fill options, which the caller has zeroed, with the defaults of n specs.
void option_defaults(const struct option_spec *specs, size_t n, void *options);

// Parse "key=value,key=value" (NULL or "": only defaults) into options. Returns 0 or -EINVAL with
// one line in error that names owner, key, what is wrong and what is accepted.
int option_parse_list(const char *owner, const struct option_spec *specs, size_t n,
	const char *text, void *options, struct error *error);

// Parse one value. owner NULL: of a command line, called "--NAME". Returns 0 or -EINVAL, as above.
int option_parse_value(const char *owner, const struct option_spec *spec, const char *text,
	void *options, struct error *error);

// What help calls the value.
const char *option_metavar(const struct option_spec *spec);

// The values as members of the object that is open, each in the text that core/asked.py hands over
// for it: "1000000ns", "8388608", "0-3,7". Flags are booleans, lists arrays; null: left to the
// program.
void option_values(
	struct json *json, const struct option_spec *specs, size_t n, const void *options);

// The table as the member "options", an array, of the object that is open; for --describe.
void option_describe(struct json *json, const struct option_spec *specs, size_t n);
