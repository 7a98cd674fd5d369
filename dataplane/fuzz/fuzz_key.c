// A key specification and a frame: the first byte chooses one by name, or a text that ends with a
// newline; the second how many bytes more the wire had.

#include "fuzz.h"
#include "key.h"

#include <string.h>

enum { N_NAMES = 4 };

static const char *const names[N_NAMES] = {"default", "routed", "network", "probe"};

// Text that is understood is said again in words that mean the same.
static int parse(const char *text, struct key_spec *spec)
{
	struct key_spec again = {0};
	char said[KEY_TEXT_LEN];
	struct error error;
	int err;

	memset(spec, 0, sizeof(*spec));
	err = key_spec_parse(text, spec, &error);
	if (err < 0)
		return err;
	must(spec->n_bytes <= KEY_MAX_BYTES && spec->stride % 8 == 0, "a key fits its stride");
	must(spec->stride >= spec->n_bytes + sizeof(uint32_t), "so does its length");
	key_spec_text(spec, said, sizeof(said));
	must(key_spec_parse(said, &again, &error) == 0, "its text is understood");
	must(memcmp(spec, &again, sizeof(again)) == 0, "its text means the same");
	return 0;
}

static void check_key(
	const struct key_spec *spec, const struct capture_frame *frame, const uint8_t *key)
{
	uint32_t len;

	memcpy(&len, key + spec->stride - sizeof(len), sizeof(len));
	must(len <= spec->n_bytes, "a key is no longer than its longest");
	for (uint32_t i = len; i < spec->stride - sizeof(len); i++)
		must(key[i] == 0, "zeros follow the key");
	must(frame->cap_len == frame->wire_len || frame->cap_len >= spec->frame_bytes,
		"a truncated frame has no key");
}

// The same frame with other MAC addresses, behind a device: the published key does not change.
static void check_other_macs(
	const struct key_spec *spec, struct capture_frame frame, const uint8_t *key)
{
	_Alignas(8) uint8_t other[KEY_MAX_BYTES + 4];
	uint8_t *moved = malloc(frame.cap_len + 1);

	must(moved != NULL, "memory");
	memcpy(moved, frame.data, frame.cap_len);
	for (uint32_t i = 0; i < 12 && i < frame.cap_len; i++)
		moved[i] ^= 0x5a;
	frame.data = moved;
	must(key_extract(spec, &frame, other), "a key whatever the MAC addresses");
	must(memcmp(key, other, spec->stride) == 0, "MAC addresses are no part of the key");
	free(moved);
}

static void extract(const struct key_spec *spec, const uint8_t *bytes, size_t len, uint8_t more)
{
	uint8_t *data = malloc(len + (len == 0)); // of its own, so that reading beyond it is seen
	uint8_t *key = aligned_alloc(8, spec->stride);
	struct capture_frame frame = {
		.data = data, .cap_len = (uint32_t)len, .wire_len = (uint32_t)len + more};

	must(data != NULL && key != NULL, "memory");
	if (len > 0)
		memcpy(data, bytes, len);
	memset(key, 0xee, spec->stride);
	if (key_extract(spec, &frame, key)) {
		check_key(spec, &frame, key);
		if (spec->kind != KEY_PROBE && spec->kind != KEY_RANGES)
			check_other_macs(spec, frame, key);
	} else {
		must(more > 0 || spec->kind == KEY_PROBE, "a whole frame has a key");
		for (uint32_t i = 0; i < spec->stride; i++)
			must(key[i] == 0xee, "nothing written without a key");
	}
	free(key);
	free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *name;
	char text[KEY_TEXT_LEN];
	struct key_spec spec;
	size_t at = 2, n = 0;

	if (len < 2)
		return 0;
	if (data[0] % (N_NAMES + 1) < N_NAMES) {
		name = names[data[0] % (N_NAMES + 1)];
	} else {
		for (; at < len && data[at] != '\n' && n < sizeof(text) - 1; at++)
			text[n++] = (char)data[at];
		text[n] = '\0';
		name = text;
	}
	if (parse(name, &spec) == 0)
		extract(&spec, data + at, len - at, data[1]);
	return 0;
}
