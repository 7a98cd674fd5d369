#include "probe.h"

enum {
	ETHER_LEN = 14,
	IPV4_LEN = 20,
	TTL = 64,
	PROTOCOL_UDP = 17,
	PORT_DISCARD = 9, // RFC 863
};

static void put_be16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

// RFC 1071.
static uint16_t checksum(const uint8_t *header, int len)
{
	uint32_t sum = 0;

	for (int i = 0; i < len; i += 2)
		sum += (uint32_t)header[i] << 8 | header[i + 1];
	while (sum > UINT16_MAX)
		sum = (sum & UINT16_MAX) + (sum >> 16);
	return (uint16_t)~sum;
}

void probe_template_fill(struct probe_template *template, uint16_t frame_len, uint8_t direction)
{
	uint8_t *ether = template->head;
	uint8_t *ip = ether + ETHER_LEN;
	uint8_t *udp = ip + IPV4_LEN;
	uint32_t ip_len = (uint32_t)frame_len - PROBE_FCS_LEN - ETHER_LEN;
	const uint8_t here = direction == 0 ? 1 : 2;
	const uint8_t there = (uint8_t)(3 - here);

	memset(template, 0, sizeof(*template));
	memcpy(ether, (const uint8_t[]){0x02, 0x74, 0, 0, 0, there}, 6);
	memcpy(ether + 6, (const uint8_t[]){0x02, 0x74, 0, 0, 0, here}, 6);
	put_be16(ether + 12, 0x0800);

	ip[0] = 0x45;
	put_be16(ip + 2, ip_len);
	ip[8] = TTL;
	ip[9] = PROTOCOL_UDP;
	memcpy(ip + 12, (const uint8_t[]){198, 18, 0, here}, 4);
	memcpy(ip + 16, (const uint8_t[]){198, 18, 0, there}, 4);
	put_be16(ip + 10, checksum(ip, IPV4_LEN));

	// Without checksum, as RFC 768 allows: the probe changes in each frame.
	put_be16(udp + 2, PORT_DISCARD);
	put_be16(udp + 4, ip_len - IPV4_LEN);
}
