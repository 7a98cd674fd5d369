#include "firewall_counts.h"

#include <rte_malloc.h>

#include <errno.h>

uint64_t firewall_counts_bytes(const struct rules *rules)
{
	return (rules->n + 1) * sizeof(struct rule_count);
}

int firewall_counts_init(
	struct firewall_counts *out, const struct rules *rules, struct error *error)
{
	out->n_rules = rules->n;
	out->items = rte_zmalloc("firewall", firewall_counts_bytes(rules), 0);
	if (out->items == NULL) {
		error_set(error, "firewall: no memory to count %zu rules; write fewer", rules->n);
		return -ENOMEM;
	}
	out->items[0].accepts = rules->accepts;
	for (size_t i = 0; i < rules->n; i++) {
		out->items[i + 1].accepts = rules->items[i].accepts;
		out->items[i + 1].line = rules->items[i].line;
	}
	return 0;
}

void firewall_counts_fini(struct firewall_counts *counts)
{
	rte_free(counts->items);
	*counts = (struct firewall_counts){0};
}

static void report_count(struct json *json, const struct rule_count *count)
{
	json_text(json, "verdict", count->accepts ? "accept" : "drop");
	json_u64(json, "packets", count->n_packets);
	json_u64(json, "bytes", count->n_bytes);
	json_end(json);
}

void firewall_counts_report(const struct firewall_counts *counts, struct json *json)
{
	json_array(json, "rules");
	for (size_t i = 1; i <= counts->n_rules; i++) {
		json_object(json, NULL);
		json_u64(json, "line", counts->items[i].line);
		report_count(json, &counts->items[i]);
	}
	json_end(json);
	json_object(json, "policy");
	report_count(json, &counts->items[0]);
}
