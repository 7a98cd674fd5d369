// Nothing: receives packets without end, or none, and drops what is sent. Measures a loop alone.

#include "port_kind.h"

struct null_options {
	uint64_t size;
	bool copy, no_rx;
};

static const struct option_spec null_specs[] = {
	{
		.name = "size",
		.type = OPTION_UINT,
		.offset = offsetof(struct null_options, size),
		.default_text = "60",
		.help = "bytes of a received packet",
		.min = 60,
		.max = PORT_MAX_FRAME,
	},
	{
		.name = "copy",
		.type = OPTION_FLAG,
		.offset = offsetof(struct null_options, copy),
		.default_text = "off",
		.help = "copy each packet, as a device would",
	},
	{
		.name = "no_rx",
		.type = OPTION_FLAG,
		.offset = offsetof(struct null_options, no_rx),
		.default_text = "off",
		.help = "receive nothing",
	},
};

static int null_devargs(
	const struct port_spec *spec, char *out, size_t out_len, struct error *error)
{
	const struct null_options *options = (const void *)spec->options;

	snprintf(out, out_len, "size=%u,copy=%d,no-rx=%d", (unsigned int)options->size,
		options->copy, options->no_rx);
	return 0;
}

const struct port_kind port_kind_null = {
	.name = "null",
	.summary = "receives packets without end and drops what is sent",
	.driver = "net_null",
	.options = null_specs,
	.n_options = sizeof(null_specs) / sizeof(null_specs[0]),
	.options_size = sizeof(struct null_options),
	.cost = PORT_COST_USER_SPACE,
	.n_mbufs = 0,
	.devargs = null_devargs,
	.open_remedy = "is DPDK's net_null driver installed?",
};
