#pragma once

// Whole JSON documents. Whoever finds a file finds all of its document.

#include "json_writer.h"

// Write one document.
typedef void json_print(struct json *json, const void *context);

// Print a document to a stream, which is not flushed. Returns 0, or what json_done returns.
int json_file_print(FILE *out, json_print *print, const void *context);

// Write a document to path: beside it first, as path.tmp, which then takes its place and its mode.
// A link, a pipe or a device that is there is written to, and so is a file that nothing can take
// the place of. Returns 0, or -errno of what failed first: a file that could be replaced is still
// there then.
int json_file_write(const char *path, json_print *print, const void *context);
