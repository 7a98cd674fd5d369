#pragma once

// Parses the values of options that base/option_spec.h has no type for.

#include "collector.h"
#include "error.h"

// Parse "p99.9" (a share of packets) or a time as "50us". Returns 0, or -EINVAL with one line in
// error.
int trace_parse_over(const char *text, struct late_config *config, struct error *error);

// Parse "9,7" into config->threads, in ascending order. Returns 0, or -EINVAL with one line in
// error.
int trace_parse_threads(const char *text, struct trace_config *config, struct error *error);

// Check that all cores are online, as far as that is known. Returns 0, or -EINVAL with one line in
// error.
int trace_check_cores(const cpu_set_t *cores, struct error *error);

// Move this process off the watched cores, if it may run elsewhere. Of the other cores those it is
// allowed count first, then those that nobody isolated. Returns whether it is off them.
bool trace_move_away(const cpu_set_t *watched);
