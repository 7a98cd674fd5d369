// Every transmit policy, the default first.

#include "transmit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct transmit_ops transmit_eager;
extern const struct transmit_ops transmit_single;
extern const struct transmit_ops transmit_buffered;

const struct transmit_ops *const transmit_table[] = {
	&transmit_eager,
	&transmit_single,
	&transmit_buffered,
};

const size_t transmit_table_size = RTE_DIM(transmit_table);

static const struct transmit_ops *find(const char *name, size_t len)
{
	for (size_t i = 0; i < transmit_table_size; i++)
		if (strlen(transmit_table[i]->name) == len &&
			memcmp(transmit_table[i]->name, name, len) == 0)
			return transmit_table[i];
	return NULL;
}

// "32,none" into "packets=32,drain=0ns": values take the keys in turn, what has a key keeps it.
static void name_values(const struct transmit_ops *ops, const char *text, char *out, size_t len)
{
	size_t used = 0;

	*out = '\0';
	for (size_t i = 0; text != NULL && *text != '\0' && used < len; i++) {
		size_t n = strcspn(text, ",");
		const char *equals = memchr(text, '=', n);
		const char *key = i < ops->n_options ? ops->options[i].name : "";
		const char *value = equals != NULL ? equals + 1 : text;
		int n_key = (int)strlen(key), n_value = (int)(text + n - value);
		if (equals != NULL) {
			key = text;
			n_key = (int)(equals - text);
		}
		if (n_value == 4 && memcmp(value, "none", 4) == 0) {
			value = "0ns";
			n_value = 3;
		}
		used += (size_t)snprintf(out + used, len - used, "%s%.*s%s%.*s", i > 0 ? "," : "",
			n_key, key, n_key > 0 ? "=" : "", n_value, value);
		text += n + (text[n] == ',');
	}
}

int transmit_init(struct transmit *transmit, const char *text, struct egress *egress,
	uint16_t n_ports, uint64_t tsc_hz, struct error *error)
{
	size_t name_len = strcspn(text, ":");
	const struct transmit_ops *ops = find(text, name_len);
	char named[256];
	uint64_t options[32]; // large enough and aligned for any policy's options

	if (ops == NULL) {
		error_set(error,
			"--transmit %s: no such policy; one of eager, single, "
			"buffered[:32,100us]",
			text);
		return -EINVAL;
	}
	memset(transmit, 0, sizeof(*transmit));
	transmit->ops = ops;
	transmit->egress = egress;
	transmit->n_ports = n_ports;
	name_values(ops, text[name_len] == ':' ? text + name_len + 1 : NULL, named, sizeof(named));
	memset(options, 0, sizeof(options));
	int err = option_parse_list(ops->name, ops->options, ops->n_options, named, options, error);
	if (err == 0 && ops->init != NULL)
		ops->init(transmit, options, tsc_hz);
	return err;
}

void transmit_fini(struct transmit *transmit)
{
	for (uint16_t i = 0; i < transmit->n_ports; i++) {
		struct egress *egress = &transmit->egress[i];
		rte_pktmbuf_free_bulk(egress->held, egress->n_held);
		egress->n_refused += egress->n_held;
		egress->n_held = 0;
	}
}
