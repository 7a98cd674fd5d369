#include "fuzz_nf.h"

#include <rte_eal.h>

#include <inttypes.h>
#include <pthread.h>
#include <sanitizer/lsan_interface.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LEN_MASK = 0x7ff, BEGINS = 0x4000, PORT = 0x8000 };

static uint64_t n_frames; // of all inputs

// As libFuzzer's own numbers stand, which know inputs alone.
static void say_frames(void)
{
	fprintf(stderr, "stat::frames: %" PRIu64 "\n", n_frames);
}

static void start_dpdk(void)
{
	char prefix[32];
	char *argv[] = {(char *)"fuzz", (char *)"--no-huge", (char *)"--no-shconf",
		(char *)"--no-pci", (char *)"--no-telemetry", (char *)"-m", (char *)"512",
		(char *)"--log-level=*:critical", (char *)"--file-prefix", prefix};
	cpu_set_t cores;

	snprintf(prefix, sizeof(prefix), "taut-fuzz-%d", (int)getpid());
	// It binds the thread to a core, which other targets would be bound to as well.
	must(pthread_getaffinity_np(pthread_self(), sizeof(cores), &cores) == 0, "cores");
	must(rte_eal_init(sizeof(argv) / sizeof(argv[0]), argv) >= 0, "DPDK starts");
	must(pthread_setaffinity_np(pthread_self(), sizeof(cores), &cores) == 0, "cores");
	(void)rmdir(rte_eal_get_runtime_dir());
}

void *fuzz_nf_create(
	const struct nf_ops *ops, const char *options, const struct fuzz_file *files, size_t n)
{
	static bool is_started;
	const struct nf_env env = {.tsc_hz = FUZZ_TSC_HZ, .n_ports = 2};
	size_t size = RTE_ALIGN_CEIL(ops->state_size, RTE_CACHE_LINE_SIZE);
	void *nf = aligned_alloc(RTE_CACHE_LINE_SIZE, size);
	uint64_t parsed[32] = {0};
	struct error error = {0};
	char text[512];
	int at = snprintf(text, sizeof(text), "%s", options), fds[4];

	if (!is_started) {
		start_dpdk();
		atexit(say_frames);
	}
	is_started = true;
	must(nf != NULL && n <= RTE_DIM(fds) && ops->options_size <= sizeof(parsed), "memory");
	memset(nf, 0, size);
	for (size_t i = 0; i < n; i++) {
		ssize_t len = (ssize_t)strlen(files[i].text);
		fds[i] = memfd_create(files[i].option, 0);
		must(write(fds[i], files[i].text, (size_t)len) == len, "memory");
		at += snprintf(&text[at], sizeof(text) - (size_t)at, "%s%s=/proc/self/fd/%d",
			at > 0 ? "," : "", files[i].option, fds[i]);
	}
	// The strings of options, and those of defaults in whose place they are, stay to the end.
	__lsan_disable();
	int err = option_parse_list(ops->name, ops->options, ops->n_options, text, parsed, &error);
	__lsan_enable();
	if (err == 0)
		err = ops->init(nf, parsed, &env, &error);
	must(err == 0, error.text);
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	return nf;
}

void fuzz_bursts_read(struct fuzz_bursts *bursts, const uint8_t *data, size_t len)
{
	uint16_t n_pkts = 0;

	bursts->n = 0;
	while (len > 2 && n_pkts < FUZZ_PKTS_MAX) {
		uint16_t head = (uint16_t)(data[0] | data[1] << 8);
		uint16_t frame_len = (uint16_t)RTE_MIN(head & LEN_MASK, len - 2);
		uint8_t *buf = malloc(RTE_PKTMBUF_HEADROOM + frame_len);
		must(buf != NULL, "memory");
		memcpy(buf + RTE_PKTMBUF_HEADROOM, data + 2, frame_len);
		if (n_pkts == 0 || ((head & BEGINS) != 0 && bursts->n < FUZZ_BURSTS_MAX))
			bursts->firsts[bursts->n++] = n_pkts;
		struct rte_mbuf *pkt = &bursts->pkts[n_pkts++];
		*pkt = (struct rte_mbuf){.buf_addr = buf,
			.buf_len = RTE_PKTMBUF_HEADROOM + frame_len,
			.data_off = RTE_PKTMBUF_HEADROOM,
			.data_len = frame_len,
			.pkt_len = frame_len,
			.nb_segs = 1,
			.port = (head & PORT) != 0};
		nf_set_egress(pkt, !pkt->port);
		data += 2 + frame_len;
		len -= 2U + frame_len;
	}
	bursts->firsts[bursts->n] = n_pkts;
	n_frames += n_pkts;
}

void fuzz_bursts_free(struct fuzz_bursts *bursts)
{
	for (uint16_t i = 0; bursts->n > 0 && i < bursts->firsts[bursts->n]; i++)
		free(bursts->pkts[i].buf_addr);
}

uint16_t fuzz_nf_process(const struct nf_ops *ops, void *nf, struct fuzz_bursts *bursts,
	uint16_t burst, uint64_t now_tsc, bool *verdicts)
{
	struct rte_mbuf *first = &bursts->pkts[bursts->firsts[burst]], *pkts[FUZZ_PKTS_MAX];
	uint16_t n = (uint16_t)(bursts->firsts[burst + 1] - bursts->firsts[burst]);
	unsigned int seen = 0;

	for (uint16_t i = 0; i < n; i++)
		pkts[i] = &first[i];
	uint16_t kept = ops->process(nf, pkts, n, now_tsc);
	must(kept <= n, "no more come out than went in");
	for (uint16_t i = 0; i < n; i++) {
		ptrdiff_t place = pkts[i] - first;
		must(i == 0 || i >= kept || pkts[i - 1] < pkts[i], "in order");
		must(place >= 0 && place < n && (seen >> place & 1) == 0, "each packet once");
		seen |= 1U << place;
		verdicts[place] = i < kept;
	}
	return kept;
}
