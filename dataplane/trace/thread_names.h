#pragma once

// Names of threads that sent something and were not seen being switched to.

#include "name_map.h"
#include "pace.h"

// Ask /proc for the names that are missing, each once. *n_asked: entries there were the last time.
void thread_names_ask(struct name_map *threads, size_t *n_asked, struct pace *pace);

// Name threads that have ended by what tracing itself remembers of their names.
void thread_names_fill(struct name_map *threads, const char *tracefs_root);
