// Read pcap files with libpcap and do nothing else. Prints records and the sum of their stamps.

#include <inttypes.h>
#include <pcap/pcap.h>
#include <stdint.h>
#include <stdio.h>

static int read_all(const char *path, uint64_t *n, uint64_t *sum)
{
	char error[PCAP_ERRBUF_SIZE];
	pcap_t *pcap =
		pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, error);
	struct pcap_pkthdr *header;
	const u_char *data;
	int got;

	if (pcap == NULL) {
		fprintf(stderr, "%s: %s\n", path, error);
		return -1;
	}
	for (; (got = pcap_next_ex(pcap, &header, &data)) == 1; (*n)++)
		*sum += (uint64_t)header->ts.tv_sec * 1000000000 + (uint64_t)header->ts.tv_usec;
	if (got == PCAP_ERROR)
		pcap_perror(pcap, path);
	pcap_close(pcap);
	return got == PCAP_ERROR_BREAK ? 0 : -1;
}

int main(int argc, char **argv)
{
	uint64_t n = 0, sum = 0;

	for (int i = 1; i < argc; i++) {
		if (read_all(argv[i], &n, &sum) < 0)
			return 1;
	}
	printf("{\"frames\": %" PRIu64 ", \"sum_ns\": %" PRIu64 "}\n", n, sum);
	return 0;
}
