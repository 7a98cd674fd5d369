#pragma once

// The slowest packets: those of the highest latency, of equal ones the lower number and direction.

#include "packet_reader.h"

#include <stddef.h>
#include <stdint.h>

struct worst_packets;

// Keep up to n. Returns 0 or -ENOMEM.
int worst_packets_create(size_t n, struct worst_packets **out);
void worst_packets_destroy(struct worst_packets *worst);

// packet is copied if it is kept.
void worst_packets_add(
	struct worst_packets *worst, int64_t latency_ns, const struct packet *packet);

// End the adding: the packets, slowest first; they are freed with the rest. Returns how many.
size_t worst_packets_end(struct worst_packets *worst, const struct packet **packets);
