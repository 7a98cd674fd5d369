#include "seq_order.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { FIRST_SLOTS = 1 << 12 };

enum slot_state {
	SLOT_EMPTY,
	SLOT_PACKET,
	SLOT_SKIPPED,
};

// seq is that of the slot.
struct slot {
	int64_t due_ns, sent_ns, received_ns;
	uint16_t flags;
	uint8_t state; // enum slot_state
};

struct seq_order {
	struct slot *slots;
	uint64_t n_slots; // a power of two
	uint64_t next; // the first number that was not given
	uint64_t end; // behind the greatest number that waits
	seq_order_give *give;
	void *context;
};

// Only pages that were written to take memory: where most numbers are missing, few.
static struct slot *slots_create(uint64_t n)
{
	void *slots = mmap(NULL, n * sizeof(struct slot), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (slots == MAP_FAILED)
		return NULL;
	(void)madvise(slots, n * sizeof(struct slot), MADV_NOHUGEPAGE);
	return slots;
}

int seq_order_create(seq_order_give *give, void *context, struct seq_order **out)
{
	struct seq_order *order = calloc(1, sizeof(*order));

	if (order == NULL)
		return -ENOMEM;
	order->give = give;
	order->context = context;
	order->n_slots = FIRST_SLOTS;
	order->slots = slots_create(FIRST_SLOTS);
	if (order->slots == NULL) {
		free(order);
		return -ENOMEM;
	}
	*out = order;
	return 0;
}

void seq_order_destroy(struct seq_order *order)
{
	if (order == NULL)
		return;
	munmap(order->slots, order->n_slots * sizeof(struct slot));
	free(order);
}

static inline struct slot *slot_of(const struct seq_order *order, uint64_t seq)
{
	return &order->slots[seq & (order->n_slots - 1)];
}

static int grow(struct seq_order *order, uint64_t n_slots)
{
	struct slot *slots = slots_create(n_slots);

	if (slots == NULL)
		return -ENOMEM;
	for (uint64_t seq = order->next; seq < order->end; seq++)
		if (slot_of(order, seq)->state != SLOT_EMPTY)
			slots[seq & (n_slots - 1)] = *slot_of(order, seq);
	munmap(order->slots, order->n_slots * sizeof(struct slot));
	order->slots = slots;
	order->n_slots = n_slots;
	return 0;
}

static inline int give_next(struct seq_order *order)
{
	struct slot *slot = slot_of(order, order->next);
	bool is_packet = slot->state == SLOT_PACKET;
	struct seq_packet packet = {
		order->next++, slot->due_ns, slot->sent_ns, slot->received_ns, slot->flags};

	// A page that nobody wrote to shall not become one of ours.
	if (slot->state != SLOT_EMPTY)
		slot->state = SLOT_EMPTY;
	return is_packet ? order->give(order->context, &packet) : 0;
}

// Give what waits below a number, and do not wait for what is missing there.
static int give_until(struct seq_order *order, uint64_t seq)
{
	int err = 0;

	while (err == 0 && order->next < seq && order->next < order->end)
		err = give_next(order);
	if (err == 0 && order->next < seq)
		order->next = seq;
	return err;
}

// Make seq one that has a slot. Returns 0, or as seq_order_add.
static int make_room(struct seq_order *order, uint64_t seq)
{
	int err = 0;

	// Half the numbers there are do for a trial of a hundred thousand years.
	if (seq < order->next || seq > INT64_MAX)
		return -ERANGE;
	if (seq - order->next >= SEQ_ORDER_REACH)
		err = give_until(order, seq - SEQ_ORDER_REACH + 1);
	uint64_t n_slots = order->n_slots;
	while (seq - order->next >= n_slots)
		n_slots *= 2;
	if (err == 0 && n_slots > order->n_slots)
		err = grow(order, n_slots);
	if (err == 0 && seq >= order->end)
		order->end = seq + 1;
	return err;
}

static int give_ready(struct seq_order *order)
{
	int err = 0;

	while (err == 0 && order->next < order->end &&
		slot_of(order, order->next)->state != SLOT_EMPTY)
		err = give_next(order);
	return err;
}

int seq_order_add(struct seq_order *order, const struct seq_packet *packet)
{
	// Most packets come in turn, and are not kept.
	if (packet->seq == order->next && order->next >= order->end) {
		order->end = ++order->next;
		return order->give(order->context, packet);
	}
	int err = make_room(order, packet->seq);
	if (err != 0)
		return err;
	struct slot *slot = slot_of(order, packet->seq);
	if (slot->state == SLOT_PACKET)
		return -ERANGE;
	*slot = (struct slot){
		packet->due_ns, packet->sent_ns, packet->received_ns, packet->flags, SLOT_PACKET};
	return give_ready(order);
}

int seq_order_skip(struct seq_order *order, uint64_t seq)
{
	if (seq < order->next)
		return 0;
	int err = make_room(order, seq);
	if (err != 0)
		return err;
	struct slot *slot = slot_of(order, seq);
	if (slot->state == SLOT_EMPTY)
		slot->state = SLOT_SKIPPED;
	return give_ready(order);
}

int seq_order_end(struct seq_order *order)
{
	return give_until(order, order->end);
}
