#pragma once

// The result files of taut-inject: injections.bin and inject.json; the poller wrote gaps.bin.

#include "injector.h"

#include <stdbool.h>
#include <stdio.h>

// Print one JSON document; print one line for people.
void inject_report_print(FILE *out, const struct injector *injector, bool was_interrupted);
void inject_report_say(FILE *out, const struct injector *injector);

// Write both to folder; inject.json comes last and whole. Returns 0 or -errno.
int inject_report_write(const struct injector *injector, const char *folder, bool was_interrupted);
