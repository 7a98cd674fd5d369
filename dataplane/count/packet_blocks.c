#include "packet_blocks.h"

#include "out_file.h"

#include <errno.h>
#include <stdlib.h>

struct packet_blocks {
	struct record_file file;
	struct packet_block block;
};

int packet_blocks_create(const char *folder, const char *name, struct packet_blocks **out)
{
	// Zeros: a block that is not full has the same bytes every time.
	struct packet_blocks *blocks = calloc(1, sizeof(*blocks));

	if (blocks == NULL)
		return -ENOMEM;
	int err = out_file_create(folder, name, RECORD_PACKET_BLOCK, &blocks->file);
	if (err < 0)
		free(blocks);
	else
		*out = blocks;
	return err;
}

static int flush(struct packet_blocks *blocks)
{
	int err = record_file_append(&blocks->file, &blocks->block, 1);

	blocks->block.n = 0;
	return err;
}

int packet_blocks_add(struct packet_blocks *blocks, const struct packet *packet)
{
	struct packet_block *block = &blocks->block;
	uint64_t at = block->n++;

	block->seq[at] = packet->seq;
	block->due_ns[at] = packet->due_ns;
	block->sent_ns[at] = packet->sent_ns;
	block->received_ns[at] = packet->received_ns;
	block->arrival_window_ns[at] = packet->arrival_window_ns;
	block->flags[at] = packet->flags;
	block->direction[at] = packet->direction;
	return block->n == PACKET_BLOCK_SIZE ? flush(blocks) : 0;
}

int packet_blocks_close(struct packet_blocks *blocks)
{
	if (blocks == NULL)
		return 0;
	int err = blocks->block.n > 0 ? flush(blocks) : 0;
	int close_err = out_file_close(&blocks->file);

	free(blocks);
	return err < 0 ? err : close_err;
}
