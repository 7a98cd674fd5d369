#include "address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>

int address_compare(const struct address *a, const struct address *b)
{
	if (a->is_v6 != b->is_v6)
		return a->is_v6 ? 1 : -1;
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

int address_parse(const char *text, struct address *out)
{
	memset(out, 0, sizeof(*out));
	out->is_v6 = strchr(text, ':') != NULL;
	return inet_pton(out->is_v6 ? AF_INET6 : AF_INET, text, out->bytes) == 1 ? 0 : -EINVAL;
}

struct address address_masked(const struct address *address, unsigned int depth)
{
	struct address masked = {.is_v6 = address->is_v6};

	memcpy(masked.bytes, address->bytes, depth / 8);
	if (depth % 8 != 0)
		masked.bytes[depth / 8] =
			address->bytes[depth / 8] & (uint8_t)(0xff00 >> depth % 8);
	return masked;
}

struct address prefix_last(const struct prefix *prefix)
{
	struct address last = prefix->address;

	for (unsigned int bit = prefix->depth; bit < address_bits(last.is_v6); bit++)
		last.bytes[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	return last;
}

// Up to three digits, without a sign or blanks.
static int parse_depth(const char *text, unsigned int most, uint8_t *out)
{
	unsigned int depth = 0;
	size_t len = strspn(text, "0123456789");

	if (len == 0 || len > 3 || text[len] != '\0')
		return -EINVAL;
	for (size_t i = 0; i < len; i++)
		depth = depth * 10 + (unsigned int)(text[i] - '0');
	*out = (uint8_t)depth;
	return depth <= most ? 0 : -EINVAL;
}

int prefix_parse(const char *text, struct prefix *out)
{
	char address[ADDRESS_TEXT_MAX];
	const char *slash = strchr(text, '/');
	size_t len = slash != NULL ? (size_t)(slash - text) : strlen(text);

	if (len >= sizeof(address))
		return -EINVAL;
	memcpy(address, text, len);
	address[len] = '\0';
	if (address_parse(address, &out->address) < 0)
		return -EINVAL;
	out->depth = (uint8_t)address_bits(out->address.is_v6);
	return slash == NULL ? 0 : parse_depth(slash + 1, out->depth, &out->depth);
}

const char *address_text(const struct address *address, char out[ADDRESS_TEXT_MAX])
{
	return inet_ntop(
		address->is_v6 ? AF_INET6 : AF_INET, address->bytes, out, ADDRESS_TEXT_MAX);
}

static int hex_digit(char digit)
{
	if (isdigit((unsigned char)digit))
		return digit - '0';
	return isxdigit((unsigned char)digit) ? tolower((unsigned char)digit) - 'a' + 10 : -1;
}

int mac_parse(const char *text, uint8_t out[MAC_LEN])
{
	uint8_t any = 0;

	if (strlen(text) != 3 * MAC_LEN - 1)
		return -EINVAL;
	for (size_t i = 0; i < MAC_LEN; i++) {
		int high = hex_digit(text[3 * i]), low = hex_digit(text[3 * i + 1]);

		if (high < 0 || low < 0 || (i + 1 < MAC_LEN && text[3 * i + 2] != ':'))
			return -EINVAL;
		out[i] = (uint8_t)(high << 4 | low);
		any |= out[i];
	}
	return any != 0 && (out[0] & 1) == 0 ? 0 : -EINVAL;
}
