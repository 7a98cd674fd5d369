#pragma once

#include "nf.h"

extern const struct nf_ops *const nf_table[];
extern const size_t nf_table_size;

// Find a network function by its name. NULL when there is none.
const struct nf_ops *nf_find(const char *name);
