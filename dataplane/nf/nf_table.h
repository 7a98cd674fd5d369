#pragma once

#include "nf.h"

extern const struct nf_ops *const nf_table[];
extern const size_t nf_table_size;

// Find a network function by its name. NULL when there is none.
const struct nf_ops *nf_find(const char *name);

// What a function has counted, as members of its object of --stats: dropped_by, then what it
// reports.
void nf_report(const struct nf_ops *ops, const void *state, struct json *json);
