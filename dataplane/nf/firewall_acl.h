#pragma once

// Rules as DPDK's rte_acl classifies by them, IPv4 and IPv6 apart. A rule of several ranges becomes
// several of rte_acl's, as that has one range or prefix a field.

#include "error.h"
#include "firewall_packet.h"
#include "rules.h"

#include <rte_acl.h>

struct firewall_acl {
	struct rte_acl_ctx *v4, *v6; // NULL: no rule fits such a packet
};

// rte_acl's rules for a family at most: with all fields ranges, building them takes seconds.
enum { ACL_RULES_MAX = 200000 };

// Add to bytes what firewall_acl_init takes of DPDK's memory. Returns 0 or -errno with one line in
// error.
int firewall_acl_memory(const struct rules *rules, uint64_t *bytes, struct error *error);

// Returns 0 or -errno with one line in error; on failure nothing stays allocated.
int firewall_acl_init(struct firewall_acl *acl, const struct rules *rules, struct error *error);
void firewall_acl_fini(struct firewall_acl *acl);

// Hot path: number, from 1, of the first rule that each packet's fields fit; 0: none. All are of
// one family.
static inline void firewall_acl_classify(
	struct rte_acl_ctx *ctx, const uint8_t **fields, uint16_t n, uint32_t *found)
{
	if (ctx == NULL) {
		for (uint16_t i = 0; i < n; i++)
			found[i] = 0;
		return;
	}
	(void)rte_acl_classify(ctx, fields, found, n, 1);
}
