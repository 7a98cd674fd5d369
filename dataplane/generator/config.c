#include "config.h"

#include "cpu_list.h"
#include "eal.h"
#include "probe.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	NS_PER_US = 1000,
	MAX_MIB = 65536,
	MAX_RX_QUEUES = 16,
	MAX_ONE_IN = 1000000,
};
static const uint64_t default_duration_ns = UINT64_C(10000000000);
static const uint64_t max_duration_ns = UINT64_C(86400000000000); // a day

static const char *const rate_layers[] = {"l2", "l1", NULL};
static const char *const record_voids[] = {"all", "slow", NULL};
const char *const record_modes[] = {"all", "tail", "none", NULL};

#define AT(member) offsetof(struct options, member)

const struct option_spec generator_options[] = {
	{.name = "tx",
		.metavar = "PORT",
		.type = OPTION_STRING,
		.offset = AT(tx),
		.help = "port that sends, KIND:NAME[,key=value...]"},
	{.name = "rx",
		.metavar = "PORT",
		.type = OPTION_STRING,
		.offset = AT(rx),
		.help = "port that receives; may be the same"},
	{.name = "rx-queues",
		.type = OPTION_UINT,
		.offset = AT(rx_queues),
		.default_text = "1",
		.min = 1,
		.max = MAX_RX_QUEUES,
		.help = "receive queues of each port; more for a peer that sends on several"},
	{.name = "both",
		.type = OPTION_FLAG,
		.offset = AT(both),
		.default_text = "off",
		.help = "send in both directions, each at the rate"},
	{.name = "rate",
		.metavar = "RATE",
		.type = OPTION_STRING,
		.offset = AT(rate),
		.help = "100kpps, 1.5Mpps, 50Mbps, ..."},
	{.name = "rate-layer",
		.type = OPTION_CHOICE,
		.offset = AT(rate_layer),
		.default_text = "l2",
		.choices = rate_layers,
		.help = "what a bit rate counts: l2 the frame with FCS, l1 20 B more"},
	{.name = "frame",
		.metavar = "BYTES",
		.type = OPTION_STRING,
		.offset = AT(frame),
		.default_text = "64",
		.help = "bytes with FCS, 64 to 1518, or imix: 7:4:1 of 64:570:1518"},
	{.name = "schedule",
		.metavar = "SCHEDULE",
		.type = OPTION_STRING,
		.offset = AT(schedule),
		.default_text = "constant",
		.help = "constant, jittered, poisson, burst or step, with :key=value,..."},
	{.name = "flows",
		.type = OPTION_UINT,
		.offset = AT(flows),
		.default_text = "1",
		.min = 1,
		.max = PROBE_MAX_FLOWS,
		.help = "UDP source ports, in turn"},
	{.name = "destinations",
		.type = OPTION_UINT,
		.offset = AT(destinations),
		.default_text = "0",
		.max = PROBE_MAX_DESTINATIONS,
		.help = "IPv4 addresses sent to, in turn, spread over 10.0.0.0/8; 0: one, the "
			"peer"},
	{.name = "duration",
		.type = OPTION_DURATION,
		.offset = AT(duration_ns),
		.default_text = "0s",
		.max = max_duration_ns,
		.help = "of sending, after the warm-up; 0s: 10s, or until --count"},
	{.name = "count",
		.type = OPTION_UINT,
		.offset = AT(count),
		.default_text = "0",
		.help = "packets to send after the warm-up; 0: until --duration"},
	{.name = "warm-up",
		.type = OPTION_DURATION,
		.offset = AT(warm_up_ns),
		.default_text = "1s",
		.max = max_duration_ns,
		.help = "sending before that, counted apart as cold"},
	{.name = "seed",
		.type = OPTION_UINT,
		.offset = AT(seed),
		.default_text = "1",
		.help = "of random gaps and sizes"},
	{.name = "core",
		.type = OPTION_CORE,
		.offset = AT(core),
		.default_text = "",
		.help = "to send and receive on; empty: the last one allowed"},
	{.name = "writer-core",
		.type = OPTION_CORE,
		.offset = AT(writer_core),
		.default_text = "",
		.help = "to write records on; empty: --core"},
	{.name = "out",
		.metavar = "DIR",
		.type = OPTION_STRING,
		.offset = AT(out),
		.help = "folder for packets.bin, gaps.bin, histograms.bin, generator.json"},
	{.name = "record",
		.type = OPTION_CHOICE,
		.offset = AT(record),
		.default_text = "all",
		.choices = record_modes,
		.help = "packets to record; tail: about the slowest 1 % and all that is odd"},
	{.name = "record-ring",
		.metavar = "MIB",
		.type = OPTION_UINT,
		.offset = AT(ring_mib),
		.default_text = "64",
		.min = 1,
		.max = MAX_MIB,
		.help = "MiB of memory between the loop and the disk; written when half full"},
	{.name = "record-one-in",
		.type = OPTION_UINT,
		.offset = AT(tail_one_in),
		.default_text = "100",
		.min = 2,
		.max = MAX_ONE_IN,
		.help = "with --record tail: the slowest packet of about so many"},
	{.name = "record-void",
		.type = OPTION_CHOICE,
		.offset = AT(record_void),
		.default_text = "all",
		.choices = record_voids,
		.help = "with --record tail: packets the generator held up; slow: as any other"},
	{.name = "record-most",
		.type = OPTION_UINT,
		.offset = AT(record_most),
		.default_text = "0",
		.help = "records and gaps that are written, each; more are counted only; 0: all"},
	{.name = "record-within",
		.type = OPTION_DURATION,
		.offset = AT(record_within_ns),
		.default_text = "0s",
		.max = max_duration_ns,
		.help = "records are in the file after so long, however few, for who follows it; "
			"0s: when the ring is half full"},
	{.name = "publish",
		.type = OPTION_FLAG,
		.offset = AT(publish),
		.default_text = "off",
		.help = "let others read what is counted while it runs: DIR/live"},
	{.name = "json",
		.type = OPTION_FLAG,
		.offset = AT(json),
		.default_text = "off",
		.help = "print generator.json to standard output"},
	{.name = "gap-threshold",
		.type = OPTION_DURATION,
		.offset = AT(gap_threshold_ns),
		.default_text = "0ns",
		.help = "a longer pause of the loop is a gap; 0ns: as the "
			"ports allow"},
	{.name = "deadline",
		.type = OPTION_DURATION,
		.offset = AT(deadline_ns),
		.default_text = "1s",
		.max = max_duration_ns,
		.help = "what is not back so long after its sending is lost"},
	{.name = "link-timeout",
		.type = OPTION_DURATION,
		.offset = AT(link_timeout_ns),
		.default_text = "10s",
		.help = "to wait for the ports' links"},
	{.name = "run-id",
		.type = OPTION_UINT,
		.offset = AT(run_id),
		.default_text = "0",
		.max = UINT32_MAX,
		.help = "carried by every packet; 0: at random"},
	{.name = "device-holds",
		.type = OPTION_FLAG,
		.offset = AT(device_holds),
		.default_text = "off",
		.help = "packets until more come: what waits for one that a gap delayed is void"},
	{.name = "device-core",
		.type = OPTION_CORE,
		.offset = AT(device_core),
		.default_text = "",
		.help = "where the device runs: what it takes of the core is reported"},
	{.name = "device-pid",
		.metavar = "PID",
		.type = OPTION_UINT,
		.offset = AT(device_pid),
		.default_text = "0",
		.max = INT32_MAX,
		.help = "the device's process; 0: it has none; with --device-core"},
	{.name = "check",
		.type = OPTION_FLAG,
		.offset = AT(check),
		.default_text = "off",
		.help = "say what is wrong with these options, or what of the schedule does not "
			"happen "
			"while it measures, if anything, and stop before ports are opened"},
	{.name = "accept-unstable-clock",
		.type = OPTION_FLAG,
		.offset = AT(accept_unstable_clock),
		.default_text = "off",
		.help = "run although the TSC is no reliable clock"},
};
const size_t n_generator_options = sizeof(generator_options) / sizeof(generator_options[0]);

static void describe(struct json *json)
{
	json_array(json, "schedules");
	for (size_t i = 0; traffic_table[i] != NULL; i++) {
		json_object(json, NULL);
		json_text(json, "name", traffic_table[i]->name);
		json_text(json, "summary", traffic_table[i]->summary);
		option_describe(json, traffic_table[i]->options, traffic_table[i]->n_options);
		json_end(json);
	}
	json_end(json);
	port_describe(json);
}

static const char *const examples[] = {
	"--tx ring:r --rx ring:r --rate 10kpps --count 1000 --out out",
	NULL,
};

static const struct command_line command_line = {
	.program = "taut-generate",
	.summary = "send packets on a schedule and time every one that comes back",
	.usage = "--tx PORT --rx PORT --rate RATE --out DIR [OPTIONS] [-- EAL options]",
	.examples = examples,
	.version = TAUT_VERSION,
	.options = generator_options,
	.n_options = sizeof(generator_options) / sizeof(generator_options[0]),
	.describe = describe,
};

// Packets of an earlier run may still be on their way: their run id tells them apart.
static uint32_t random_run_id(void)
{
	struct timespec now;
	struct prng prng;

	clock_gettime(CLOCK_REALTIME, &now);
	prng_seed(&prng, (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec +
				 ((uint64_t)getpid() << 48));
	return (uint32_t)prng_next(&prng) | 1;
}

static int parse_ports(struct config *config, struct error *error)
{
	const struct options *options = &config->options;
	int err = port_spec_parse(options->tx, PORT_GENERATOR, &config->ports[0], error);

	if (err < 0)
		return err;
	config->n_ports = strcmp(options->tx, options->rx) == 0 ? 1 : 2;
	if (config->n_ports == 2)
		err = port_spec_parse(options->rx, PORT_GENERATOR, &config->ports[1], error);
	if (err < 0)
		return err;
	for (size_t i = 0; i < config->n_ports; i++)
		config->ports[i].n_rx_queues = (uint16_t)options->rx_queues;
	return port_specs_check(config->ports, config->n_ports, error);
}

// Of a count, as long as it takes at the mean rate.
static uint64_t measured_ns(const struct config *config)
{
	const struct traffic_rate *rate = &config->rate;
	unsigned __int128 of_count_ns =
		((unsigned __int128)config->count * rate->per_ns + rate->packets - 1) /
		rate->packets;

	return of_count_ns < config->duration_ns ? (uint64_t)of_count_ns : config->duration_ns;
}

static int parse_traffic(struct config *config, struct error *error)
{
	const struct options *options = &config->options;
	struct traffic *traffic = NULL;
	int err = frame_mix_parse(&config->mix, options->frame, error);

	if (err < 0)
		return err;
	err = traffic_rate_parse(options->rate, &config->mix, (enum rate_layer)options->rate_layer,
		&config->rate, error);
	if (err < 0)
		return err;
	// Tried now, so that a mistake is told before anything starts.
	err = traffic_create(
		options->schedule, &config->rate, &config->mix, 1, options->seed, &traffic, error);
	if (err == 0 && options->check)
		err = traffic_fits(traffic, &config->rate, options->warm_up_ns,
			options->warm_up_ns + measured_ns(config), error);
	if (err == 0)
		config->at_once = traffic_at_once(traffic);
	traffic_destroy(traffic);
	return err;
}

// What system calls cost is no stall of the sender: its quantum and gaps are wider then.
static void set_limits(struct config *config)
{
	struct port_gap_limits limits = port_gap_limits(config->ports, config->n_ports);

	config->quantum_ns = limits.threshold_ns <= NS_PER_US ? NS_PER_US : 20 * NS_PER_US;
	config->gap_threshold_ns = config->options.gap_threshold_ns != 0
					   ? config->options.gap_threshold_ns
					   : limits.threshold_ns;
	config->gap_per_packet_ns = limits.per_packet_ns;
	config->ring_keeps = limits.keeps;
}

int config_parse(struct config *config, int argc, char *const *argv, struct error *error)
{
	struct options *options = &config->options;

	*config = (struct config){.argc = argc, .argv = argv};
	int err = command_line_parse(&command_line, argc, argv, options, &config->n_used, error);
	if (err != COMMAND_LINE_RUN)
		return err;
	config->count = options->count != 0 ? options->count : UINT64_MAX;
	config->duration_ns = options->duration_ns;
	if (config->duration_ns == 0)
		config->duration_ns = options->count != 0 ? UINT64_MAX : default_duration_ns;
	err = parse_traffic(config, error);
	if (err == 0)
		err = eal_check_core(options->core, error);
	if (err == 0)
		err = eal_check_core(options->writer_core, error);
	if (err == 0)
		err = eal_check_core(options->device_core, error);
	if (err == 0)
		err = parse_ports(config, error);
	if (err < 0)
		return err;

	set_limits(config);
	config->run_id = options->run_id != 0 ? (uint32_t)options->run_id : random_run_id();
	return 0;
}
