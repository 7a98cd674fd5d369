#include "config.h"

#include "command_line.h"
#include "cpu_list.h"
#include "eal.h"
#include "nf_load.h"
#include "nf_table.h"
#include "port_interrupt.h"
#include "transmit.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTION(field) .offset = offsetof(struct options, field)

const struct option_spec forwarder_options[] = {
	{.name = "port",
		.metavar = "PORT",
		.type = OPTION_LIST,
		OPTION(ports),
		.help = "KIND:NAME[,key=value...], once a port; 0 and 1 are a pair, 2 and 3, ..."},
	{.name = "nf",
		.metavar = "NF",
		.type = OPTION_LIST,
		OPTION(nfs),
		.help = "NAME[:key=value,...] or FILE.so[:...], once a network function, in order; "
			"none: a wire"},
	{.name = "transmit",
		.metavar = "POLICY",
		.type = OPTION_STRING,
		OPTION(transmit),
		.default_text = "eager",
		.help = "eager, single or buffered[:PACKETS,DRAIN]; DRAIN none: no timer"},
	{.name = "wait",
		.metavar = "HOW",
		.type = OPTION_STRING,
		OPTION(wait),
		.default_text = "poll",
		.help = "poll, interrupt or adaptive[:TIME]: look for packets without end, sleep "
			"until one comes, or look for TIME first; without TIME as the gaps between "
			"packets suggest"},
	{.name = "burst",
		.type = OPTION_UINT,
		OPTION(burst),
		.default_text = "32",
		.help = "packets one poll may return, 1 to 256",
		.min = 1,
		.max = BURST_MAX},
	{.name = "core",
		.type = OPTION_CORE,
		OPTION(core),
		.default_text = "",
		.help = "the core to run on; default: the last one allowed"},
	{.name = "writer-core",
		.type = OPTION_CORE,
		OPTION(writer_core),
		.default_text = "",
		.help = "to write the logs on; default: the first allowed that is not --core"},
	{.name = "duration",
		.type = OPTION_DURATION,
		OPTION(duration_ns),
		.default_text = "0s",
		.help = "stop after this time; 0s: at SIGINT or SIGTERM"},
	{.name = "hold",
		.type = OPTION_UINT,
		OPTION(hold),
		.default_text = "8192",
		.help = "packets network functions may hold (delay), in all",
		.max = 1 << 20},
	{.name = "memory",
		.type = OPTION_FLAG,
		OPTION(memory),
		.default_text = "off",
		.help = "only say how many MB of memory packets and tables of network functions "
			"take; the ports need not be there"},
	{.name = "gaps",
		.metavar = "FILE",
		.type = OPTION_STRING,
		OPTION(gaps),
		.default_text = "",
		.help = "file for the gap log (record_format.h), written during the run"},
	{.name = "gaps-most",
		.type = OPTION_UINT,
		OPTION(gaps_most),
		.default_text = "0",
		.help = "gaps that --gaps has; more are counted only; 0: all"},
	{.name = "stamps",
		.metavar = "FILE",
		.type = OPTION_STRING,
		OPTION(stamps),
		.default_text = "",
		.help = "file for when packets of taut's generator came and left "
			"(record_format.h), "
			"written during the run"},
	{.name = "stamp-every",
		.type = OPTION_UINT,
		OPTION(stamp_every),
		.default_text = "1",
		.help = "of so many packets --stamps has one, chosen by their sequence numbers",
		.min = 1,
		.max = UINT32_MAX},
	{.name = "stats",
		.metavar = "FILE",
		.type = OPTION_STRING,
		OPTION(stats),
		.default_text = "",
		.help = "file for the counters, JSON; - is standard output"},
	{.name = "gap-threshold",
		.type = OPTION_DURATION,
		OPTION(gap_threshold_ns),
		.default_text = "0ns",
		.help = "a longer iteration is a gap; 0ns: as the ports allow"},
	{.name = "check",
		.type = OPTION_FLAG,
		OPTION(check),
		.default_text = "off",
		.help = "say what is wrong with these options and the files they name, if anything "
			"is, and stop before memory, ports and functions are started"},
};
const size_t n_forwarder_options = sizeof(forwarder_options) / sizeof(forwarder_options[0]);

static void describe(struct json *json)
{
	json_array(json, "network_functions");
	for (size_t i = 0; i < nf_table_size; i++) {
		json_object(json, NULL);
		json_text(json, "name", nf_table[i]->name);
		json_text(json, "summary", nf_table[i]->summary);
		option_describe(json, nf_table[i]->options, nf_table[i]->n_options);
		json_end(json);
	}
	json_end(json);
	json_array(json, "transmit");
	for (size_t i = 0; i < transmit_table_size; i++) {
		json_object(json, NULL);
		json_text(json, "name", transmit_table[i]->name);
		json_text(json, "summary", transmit_table[i]->summary);
		option_describe(json, transmit_table[i]->options, transmit_table[i]->n_options);
		json_end(json);
	}
	json_end(json);
	port_describe(json);
}

static const char *const examples[] = {
	"--port memif:a --port memif:b --nf mac_swap",
	"--port memif:a --port memif:b --transmit buffered:32,100us",
	"--port vhost:a --port vhost:b --wait adaptive",
	NULL,
};

static const struct command_line line = {
	.program = "taut-forward",
	.summary = "forward packets between ports on one core, and never wait to fill a burst",
	.usage = "--port PORT --port PORT [--nf NF]... [OPTIONS] [-- EAL options]",
	.examples = examples,
	.version = TAUT_VERSION,
	.options = forwarder_options,
	.n_options = sizeof(forwarder_options) / sizeof(forwarder_options[0]),
	.describe = describe,
};

// Without --core the poller's is the last one allowed (eal.h), and the first another one, where
// there are two.
static int first_core_but(int core)
{
	cpu_set_t allowed;

	if (cpu_list_allowed(&allowed) < 0)
		return -1;
	for (int other = 0; other < CPU_SETSIZE; other++)
		if (CPU_ISSET((size_t)other, &allowed) && other != core)
			return other;
	return -1;
}

static int check_cores(struct config *config, struct error *error)
{
	const struct options *options = &config->options;
	int err = eal_check_core(options->core, error);

	if (err == 0)
		err = eal_check_core(options->writer_core, error);
	config->writer_core =
		options->writer_core >= 0 ? options->writer_core : first_core_but(options->core);
	return err;
}

// Said before the run, not after it: the folder of a file to be written takes files.
static int check_output(const char *option, const char *path, struct error *error)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];

	if (*path == '\0' || strcmp(path, "-") == 0)
		return 0;
	snprintf(folder, sizeof(folder), "%.*s", slash != NULL ? (int)(slash - path) + 1 : 1,
		slash != NULL ? path : ".");
	if (access(folder, W_OK | X_OK) == 0)
		return 0;
	error_set(error, "--%s %s: folder %s: %s; make it, or name another", option, path, folder,
		strerror(errno));
	return -EINVAL;
}

static int parse_ports(struct config *config, struct error *error)
{
	const struct option_list *ports = &config->options.ports;
	size_t n = ports->n;

	if (n == 0 || n > PORTS_MAX) {
		error_set(error,
			"--port: %zu given, 1 to %d wanted; for example "
			"--port memif:a --port memif:b",
			n, PORTS_MAX);
		return -EINVAL;
	}
	for (size_t i = 0; i < n; i++) {
		int err = port_spec_parse(ports->items[i], PORT_DEVICE, &config->specs[i], error);
		if (err < 0)
			return err;
	}
	int err = wait_parse(&config->wait, config->options.wait, error);
	if (err == 0 && config->wait.sleeps)
		err = port_specs_want_interrupts(config->specs, n, error);
	return err == 0 && !config->options.memory ? port_specs_check(config->specs, n, error)
						   : err;
}

// The worker's pipeline does it again, with memory that EAL gives: here a mistake costs no time.
static int check_nfs(const struct option_list *nfs, struct error *error)
{
	for (size_t i = 0; i < nfs->n; i++) {
		const struct nf_ops *ops;
		void *options;
		int err = nf_open(nfs->items[i], &ops, &options, error);
		if (err < 0)
			return err;
		free(options);
	}
	return 0;
}

// So does the worker, with its ports, when these are up.
static int check_transmit(struct config *config, struct error *error)
{
	static struct egress egress;
	const struct options *options = &config->options;
	struct transmit transmit;
	int err = transmit_init(&transmit, options->transmit, &egress, 1, 1000000000, error);

	if (err == 0) {
		uint16_t most = transmit.ops->burst_max;
		config->burst = most > 0 ? most : (uint16_t)options->burst;
	}
	return err;
}

static int decode(struct config *config, struct error *error)
{
	const struct options *options = &config->options;
	int err = check_cores(config, error);

	if (err == 0)
		err = check_output("gaps", options->gaps, error);
	if (err == 0)
		err = check_output("stamps", options->stamps, error);
	if (err == 0)
		err = check_output("stats", options->stats, error);
	if (err == 0)
		err = parse_ports(config, error);
	if (err == 0)
		err = check_nfs(&options->nfs, error);
	if (err == 0)
		err = check_transmit(config, error);
	if (err < 0)
		return err;
	struct port_gap_limits limits = port_gap_limits(config->specs, options->ports.n);
	config->gap_threshold_ns =
		options->gap_threshold_ns != 0 ? options->gap_threshold_ns : limits.threshold_ns;
	config->gap_per_packet_ns = limits.per_packet_ns;
	return 0;
}

int config_parse(struct config *config, int argc, char *const *argv, struct error *error)
{
	int n_used = 0;

	*config = (struct config){0};
	int result = command_line_parse(&line, argc, argv, &config->options, &n_used, error);
	if (result != COMMAND_LINE_RUN)
		return result;
	int err = decode(config, error);
	config->eal_options = argv + n_used;
	config->n_eal_options = argc - n_used;
	return err;
}
