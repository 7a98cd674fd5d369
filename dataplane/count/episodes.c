#include "episodes.h"

#include "packet_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct episodes {
	int64_t late_above_ns;
	struct {
		struct episode episode; // packets 0: none is open
		uint64_t next_seq; // of a packet that would belong to it
	} open[2];
	struct episode_totals totals;
	struct episode worst[EPISODES_WORST];
	size_t n_worst;
};

int episodes_create(int64_t late_above_ns, struct episodes **out)
{
	struct episodes *episodes = calloc(1, sizeof(*episodes));

	if (episodes == NULL)
		return -ENOMEM;
	episodes->late_above_ns = late_above_ns;
	*out = episodes;
	return 0;
}

void episodes_destroy(struct episodes *episodes)
{
	free(episodes);
}

static bool is_worse(const struct episode *a, const struct episode *b)
{
	if (a->duration_ns != b->duration_ns)
		return a->duration_ns > b->duration_ns;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns;
	return a->direction < b->direction;
}

static void list(struct episodes *episodes, const struct episode *episode)
{
	size_t at = episodes->n_worst;

	while (at > 0 && is_worse(episode, &episodes->worst[at - 1]))
		at--;
	if (at == EPISODES_WORST)
		return;
	if (episodes->n_worst < EPISODES_WORST)
		episodes->n_worst++;
	memmove(&episodes->worst[at + 1], &episodes->worst[at],
		(episodes->n_worst - at - 1) * sizeof(*episode));
	episodes->worst[at] = *episode;
}

static void raise_to(int64_t *most, int64_t value, bool is_any)
{
	if (!is_any || value > *most)
		*most = value;
}

// End the episode that is open in a direction, if there is one.
static int end_episode(struct episodes *episodes, uint8_t direction)
{
	struct episode *episode = &episodes->open[direction].episode;
	struct episode_totals *totals = &episodes->totals;
	bool is_late = episode->late > 0;

	if (episode->packets == 0)
		return 0;
	if (is_late) {
		if (__builtin_sub_overflow(
			    episode->end_ns, episode->start_ns, &episode->duration_ns))
			return -ERANGE;
		totals->n++;
		totals->packets += episode->packets;
		totals->lost += episode->lost;
		totals->unsent += episode->unsent;
		totals->touched_by_void += episode->void_packets > 0;
		totals->all_void += episode->void_packets == episode->packets;
		list(episodes, episode);
	} else if (episode->lost > 0) {
		totals->loss_bursts++;
		if (episode->lost > totals->longest_loss_burst)
			totals->longest_loss_burst = episode->lost;
	}
	raise_to(&totals->longest_ns, is_late ? episode->duration_ns : 0, totals->is_any);
	raise_to(&totals->deepest_ns, is_late ? episode->depth_ns : 0, totals->is_any);
	totals->is_any = true;
	episode->packets = 0;
	return 0;
}

static void extend(struct episode *episode, const struct seq_packet *packet, int64_t latency_ns)
{
	int64_t start_ns = packet->sent_ns != NO_TIME ? packet->sent_ns : packet->due_ns;
	bool is_late = packet->received_ns != NO_TIME;
	bool is_unsent = packet->flags & PACKET_UNSENT;

	if (episode->packets == 0 || start_ns < episode->start_ns)
		episode->start_ns = start_ns;
	if (packet->due_ns != NO_TIME && (!episode->has_due || packet->due_ns < episode->due_ns)) {
		episode->due_ns = packet->due_ns;
		episode->has_due = true;
	}
	if (is_late) {
		raise_to(&episode->end_ns, packet->received_ns, episode->late > 0);
		raise_to(&episode->depth_ns, latency_ns, episode->late > 0);
	}
	episode->packets++;
	episode->late += is_late;
	episode->lost += !is_late && !is_unsent;
	episode->unsent += is_unsent;
	episode->void_packets += (packet->flags & PACKET_VOID) != 0;
}

int episodes_add(struct episodes *episodes, uint8_t direction, const struct seq_packet *packet)
{
	int64_t latency_ns = 0;
	int err = 0;

	if (packet->flags & PACKET_COLD)
		return 0;
	if (packet->received_ns != NO_TIME &&
		__builtin_sub_overflow(packet->received_ns, packet->sent_ns, &latency_ns))
		return -ERANGE;
	if (packet->received_ns != NO_TIME && latency_ns <= episodes->late_above_ns)
		return 0;
	if (packet->seq != episodes->open[direction].next_seq)
		err = end_episode(episodes, direction);
	if (err < 0)
		return err;
	struct episode *episode = &episodes->open[direction].episode;
	if (episode->packets == 0)
		*episode = (struct episode){.direction = direction, .first_seq = packet->seq};
	extend(episode, packet, latency_ns);
	episodes->open[direction].next_seq = packet->seq + 1;
	return 0;
}

int episodes_end(struct episodes *episodes)
{
	int err = end_episode(episodes, 0);

	return err < 0 ? err : end_episode(episodes, 1);
}

const struct episode_totals *episodes_totals(const struct episodes *episodes)
{
	return &episodes->totals;
}

size_t episodes_worst(const struct episodes *episodes, const struct episode **worst)
{
	*worst = episodes->worst;
	return episodes->n_worst;
}
