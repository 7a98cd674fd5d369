#pragma once

// Writes packets by column: a file of packet_block records.

#include "packet_reader.h"

struct packet_blocks;

// Returns 0 or -errno; on failure nothing stays open.
int packet_blocks_create(const char *folder, const char *name, struct packet_blocks **out);

// Returns 0 or -errno.
int packet_blocks_add(struct packet_blocks *blocks, const struct packet *packet);

// Write what is left, close the file and free the writer. Returns 0 or the first error. NULL: none.
int packet_blocks_close(struct packet_blocks *blocks);
