#include "late_packets.h"

#include "out_file.h"
#include "packet_blocks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static const char name[] = "late.bin";

struct late_packets {
	const char *folder;
	int64_t above_ns;
	struct packet_blocks *blocks; // NULL: there were too many
	uint64_t n_left;
};

int late_packets_create(
	const char *folder, int64_t above_ns, uint64_t n_most, struct late_packets **out)
{
	struct late_packets *late = calloc(1, sizeof(*late));

	if (late == NULL)
		return -ENOMEM;
	late->folder = folder;
	late->above_ns = above_ns;
	late->n_left = n_most;
	int err = packet_blocks_create(folder, name, &late->blocks);
	if (err < 0)
		free(late);
	else
		*out = late;
	return err;
}

static int forget(struct late_packets *late)
{
	char path[OUT_PATH_LEN];
	int err = packet_blocks_close(late->blocks);

	late->blocks = NULL;
	if (err == 0)
		err = out_path(late->folder, name, path);
	if (err == 0 && unlink(path) < 0)
		err = -errno;
	return err;
}

static inline bool is_late(const struct seq_packet *packet, int64_t above_ns)
{
	if (packet->flags & PACKET_COLD)
		return false;
	// Who counts it in its flow has refused what 64 bits do not hold.
	return packet->received_ns == NO_TIME || packet->received_ns - packet->sent_ns > above_ns;
}

int late_packets_add(struct late_packets *late, uint8_t direction, const struct seq_packet *packet)
{
	const struct packet noted = {
		.seq = packet->seq,
		.due_ns = packet->due_ns,
		.sent_ns = packet->sent_ns,
		.received_ns = packet->received_ns,
		.flags = packet->flags,
		.direction = direction,
	};

	if (late->blocks == NULL || !is_late(packet, late->above_ns))
		return 0;
	if (late->n_left-- == 0)
		return forget(late);
	return packet_blocks_add(late->blocks, &noted);
}

int late_packets_close(struct late_packets *late)
{
	if (late == NULL)
		return 0;
	int err = packet_blocks_close(late->blocks);

	free(late);
	return err;
}
