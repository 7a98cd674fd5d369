#include "json_writer.h"
#include "port_kind.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

int port_fail(const struct port_spec *spec, int err, struct error *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	error_vset(error, format, args);
	va_end(args);
	error_prefix(error, "port %s", spec->text);
	return err;
}

static const struct port_kind *find_kind(const char *name, size_t len)
{
	for (size_t i = 0; port_table[i] != NULL; i++)
		if (strlen(port_table[i]->name) == len &&
			memcmp(port_table[i]->name, name, len) == 0)
			return port_table[i];
	return NULL;
}

static int unknown_kind(const struct port_spec *spec, struct error *error)
{
	char kinds[128] = "";

	for (size_t i = 0; port_table[i] != NULL; i++) {
		size_t used = strlen(kinds);
		snprintf(kinds + used, sizeof(kinds) - used, "%s%s", i > 0 ? ", " : "",
			port_table[i]->name);
	}
	return port_fail(spec, -EINVAL, error,
		"unknown kind of port; write KIND:NAME, KIND one of %s", kinds);
}

int port_spec_parse(
	const char *text, enum port_side side, struct port_spec *out, struct error *error)
{
	char owner[PORT_TEXT_MAX + 8];
	const char *colon = strchr(text, ':');
	const char *options = NULL;

	*out = (struct port_spec){.side = side, .n_rx_queues = 1};
	snprintf(out->text, sizeof(out->text), "%s", text);
	if (strlen(text) >= sizeof(out->text))
		return port_fail(
			out, -EINVAL, error, "too long; at most %d characters", PORT_TEXT_MAX - 1);
	if (colon != NULL)
		out->kind = find_kind(text, (size_t)(colon - text));
	if (out->kind == NULL)
		return unknown_kind(out, error);

	snprintf(out->name, sizeof(out->name), "%.*s", (int)strcspn(colon + 1, ","), colon + 1);
	if (colon[1 + strlen(out->name)] == ',')
		options = colon + 2 + strlen(out->name);
	if (out->name[0] == '\0')
		return port_fail(out, -EINVAL, error, "no name after the colon; write %s:NAME",
			out->kind->name);
	snprintf(owner, sizeof(owner), "port %s", out->text);
	return option_parse_list(
		owner, out->kind->options, out->kind->n_options, options, out->options, error);
}

int port_specs_check(const struct port_spec *specs, size_t n, struct error *error)
{
	for (size_t i = 0; i < n; i++) {
		const struct port_kind *kind = specs[i].kind;
		if (kind->needs_root && geteuid() != 0)
			return port_fail(&specs[i], -EPERM, error,
				"ports of kind %s need root; memif and ring do not", kind->name);
		int err = kind->check != NULL ? kind->check(&specs[i], specs, i, error) : 0;
		if (err < 0)
			return err;
	}
	return 0;
}

static bool enters_kernel(const struct port_spec *spec)
{
	return spec->kind->cost == PORT_COST_SYSTEM_CALLS ||
	       (spec->kind->cost == PORT_COST_WAKES_PEER && spec->side == PORT_GENERATOR);
}

struct port_gap_limits port_gap_limits(const struct port_spec *specs, size_t n)
{
	// Handling a packet of a burst that came after a pause took 125 to 215 ns over memif on the
	// machine of docs/benchmarks.md: work, not a gap.
	struct port_gap_limits limits = {.threshold_ns = 1000, .per_packet_ns = 250, .keeps = true};

	for (size_t i = 0; i < n; i++) {
		if (enters_kernel(&specs[i])) {
			limits.threshold_ns = 10000;
			limits.per_packet_ns = 10000;
		}
		// A socket's ring: the kernel drops what it cannot put there.
		limits.keeps &= specs[i].kind->cost != PORT_COST_SYSTEM_CALLS;
	}
	return limits;
}

unsigned int port_specs_mbufs(const struct port_spec *specs, size_t n)
{
	unsigned int n_mbufs = 0;

	for (size_t i = 0; i < n; i++)
		n_mbufs += specs[i].kind->n_mbufs * specs[i].n_rx_queues;
	return n_mbufs;
}

void port_describe(struct json *json)
{
	json_array(json, "ports");
	for (size_t i = 0; port_table[i] != NULL; i++) {
		const struct port_kind *kind = port_table[i];
		json_object(json, NULL);
		json_text(json, "name", kind->name);
		json_text(json, "summary", kind->summary);
		json_bool(json, "needs_root", kind->needs_root);
		json_bool(json, "interrupts", kind->interrupts != PORT_NO_INTERRUPTS);
		json_bool(json, "system_calls", kind->cost == PORT_COST_SYSTEM_CALLS);
		option_describe(json, kind->options, kind->n_options);
		json_end(json);
	}
	json_end(json);
}
