#pragma once

#include "cause.h"

// The index is the number of the cause in injection_record.cause; inject.json lists the names.
extern const struct cause_ops *const cause_table[];
extern const size_t cause_table_size;

// Returns the number, or -1.
int cause_find(const char *name, size_t name_len);
