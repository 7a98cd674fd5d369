#pragma once

// Writes one JSON document to a stream. Commas, quotes, escapes and brackets are its business:
//
//	struct json json = {.out = file};
//	json_object(&json, NULL);
//	json_u64(&json, "n", 3);
//	json_array(&json, "cores");
//	json_i64(&json, NULL, 1);
//	json_end(&json);
//	json_end(&json);
//	int err = json_done(&json);
//
// writes {"n":3,"cores":[1]} and a newline. A member of an object has a name; an element of an
// array, and the document itself, has NULL. A wrong name or an end too many is a mistake in the
// program and stops it (assert). For text in memory let out be an open_memstream.

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH_MAX = 16 };

struct json {
	FILE *out;
	char closing[JSON_DEPTH_MAX]; // of what is open: '}' or ']'
	unsigned int depth; // objects and arrays that are open
	bool has_members; // the next value needs a comma before it
	bool has_name; // json_name_u64 wrote it already
	int error; // -errno of json_fail; 0: none
};

// Open an object or an array; json_end closes the one opened last.
void json_object(struct json *json, const char *name);
void json_array(struct json *json, const char *name);
void json_end(struct json *json);

// Write a name that is a number, as a core's. The next value is then written with name NULL.
void json_name_u64(struct json *json, uint64_t name);

// text NULL writes null. Text may be any bytes, as names of threads and files are: each that is no
// UTF-8, or half of a character that was cut off, is written as U+FFFD.
void json_text(struct json *json, const char *name, const char *text);
void json_u64(struct json *json, const char *name, uint64_t value);
void json_i64(struct json *json, const char *name, int64_t value);
void json_bool(struct json *json, const char *name, bool value);
void json_null(struct json *json, const char *name);

// With so many digits behind the point; with so many significant digits. NaN and infinity, which
// JSON does not have, are written as null.
void json_fixed(struct json *json, const char *name, double value, int decimals);
void json_double(struct json *json, const char *name, double value, int digits);

// A value that is JSON already; NULL writes null.
void json_raw(struct json *json, const char *name, const char *value);

// The document lacks something, for want of memory as the case may be: json_done returns err.
void json_fail(struct json *json, int err);

// End the document; the stream is not flushed. Returns 0, err of the first json_fail, or -EIO when
// the stream did not take all of it.
int json_done(struct json *json);
