// For tests/nf: the network function alone, asked for verdicts on standard input. A line is
//	O OPTIONS       make it anew: "ok", or "refused: " and why
//	T NS            so much time passes
//	B PORT:HEX ...  a burst: a digit a frame, 1 accepted, 0 dropped
//	S               its part of --stats
// and is answered by one, but for T.

#include "json_writer.h"
#include "nf_table.h"

#include <rte_eal.h>
#include <rte_malloc.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	POOL_SIZE = 511,
	TSC_HZ = 1000000000, // a tick is a nanosecond
	BURST_MAX = 256,
};

static struct rte_mempool *pool;
static const struct nf_ops *ops;
static void *nf;
static uint64_t now_tsc = 1;

static void end(void)
{
	if (nf != NULL)
		ops->fini(nf);
	rte_free(nf);
	nf = NULL;
}

static void begin(const char *text)
{
	const struct nf_env env = {.tsc_hz = TSC_HZ, .n_ports = 2};
	void *options = calloc(1, ops->options_size);
	struct error error;

	end();
	nf = rte_zmalloc(NULL, ops->state_size, RTE_CACHE_LINE_SIZE);
	if (options == NULL || nf == NULL)
		abort();
	int err = option_parse_list(ops->name, ops->options, ops->n_options, text, options, &error);
	if (err == 0)
		err = ops->init(nf, options, &env, &error);
	free(options);
	if (err == 0) {
		puts("ok");
		return;
	}
	printf("refused: %s\n", error.text);
	rte_free(nf);
	nf = NULL;
}

static int digit(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

// PORT:HEX
static struct rte_mbuf *read_frame(const char *text)
{
	struct rte_mbuf *pkt = rte_pktmbuf_alloc(pool);
	const char *hex = strchr(text, ':') + 1;
	size_t len = strlen(hex) / 2;
	uint8_t *at = pkt != NULL ? (uint8_t *)rte_pktmbuf_append(pkt, (uint16_t)len) : NULL;

	if (at == NULL)
		abort();
	pkt->port = (uint16_t)atoi(text);
	for (size_t i = 0; i < len; i++)
		at[i] = (uint8_t)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
	return pkt;
}

static void burst(char *text)
{
	struct rte_mbuf *pkts[BURST_MAX], *given[BURST_MAX];
	char answer[BURST_MAX + 1];
	uint16_t n = 0;

	for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " "))
		given[n++] = read_frame(word);
	memcpy(pkts, given, sizeof(pkts));
	uint16_t kept = ops->process(nf, pkts, n, now_tsc);
	memset(answer, '0', n);
	answer[n] = '\0';
	for (uint16_t i = 0, j = 0; i < n && j < kept; i++)
		if (given[i] == pkts[j]) {
			answer[i] = '1';
			j++;
		}
	puts(answer);
	rte_pktmbuf_free_bulk(pkts, n);
}

static void report(void)
{
	struct json json = {.out = stdout};

	json_object(&json, NULL);
	nf_report(ops, nf, &json);
	json_end(&json);
	(void)json_done(&json);
}

int main(int argc, char **argv)
{
	char prefix[32];
	char *eal[] = {argv[0], (char *)"--no-huge", (char *)"--no-shconf", (char *)"--no-pci",
		(char *)"--no-telemetry", (char *)"-m", (char *)"4096",
		(char *)"--log-level=*:critical", (char *)"--file-prefix", prefix};
	char *line = NULL;
	size_t room = 0;

	snprintf(prefix, sizeof(prefix), "taut-test-%d", (int)getpid());
	if (rte_eal_init(sizeof(eal) / sizeof(eal[0]), eal) < 0)
		return 77;
	pool = rte_pktmbuf_pool_create("test", POOL_SIZE, 0, 0, 2176, SOCKET_ID_ANY);
	ops = nf_find("firewall");
	while (getline(&line, &room, stdin) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == 'O')
			begin(line + 2);
		else if (line[0] == 'T')
			now_tsc += strtoull(line + 2, NULL, 10);
		else if (line[0] == 'B')
			burst(line + 2);
		else
			report();
		fflush(stdout);
	}
	free(line);
	end();
	(void)rmdir(rte_eal_get_runtime_dir());
	return rte_mempool_avail_count(pool) == POOL_SIZE ? 0 : 1;
}
