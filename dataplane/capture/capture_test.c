// Files, pipes and compression; the formats themselves are tested in pcap_test.c and
// pcapng_test.c.

#include "capture_test_env.h"
#include "error.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

static char folder[] = "/tmp/capture_test.XXXXXX";
static char path[64];

static void write_file(const void *data, size_t len)
{
	FILE *file = fopen(path, "wb");

	assert_int_equal(fwrite(data, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

// One gzip member.
static void put_gzip(struct bytes *out, const uint8_t *data, size_t len)
{
	z_stream stream = {.next_in = (Bytef *)data, .avail_in = (uInt)len};
	uint8_t *packed = malloc(len + 1024);

	stream.next_out = packed;
	stream.avail_out = (uInt)len + 1024;
	assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, 0), Z_OK);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	put(out, packed, stream.total_out);
	deflateEnd(&stream);
	free(packed);
}

// One zstd frame.
static void put_zstd(struct bytes *out, const uint8_t *data, size_t len)
{
	size_t room = ZSTD_compressBound(len);
	uint8_t *packed = malloc(room);
	size_t n = ZSTD_compress(packed, room, data, len, 3);

	assert_false(ZSTD_isError(n));
	put(out, packed, n);
	free(packed);
}

static struct outcome *read_path(const char *name)
{
	struct capture *capture;
	struct error error = {0};

	if (capture_open(name, &capture, &error) < 0)
		fail_msg("%s", error.text);
	return drain(capture);
}

static void assert_frames(const struct outcome *outcome, size_t n)
{
	assert_int_equal(outcome->n, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(outcome->frames[i].ts_ns, INT64_C(1000000000000) + i * 1000);
		assert_int_equal(outcome->frames[i].first, frame_byte(i, 0));
	}
}

static void test_a_file_of_several_blocks_is_whole(void **state)
{
	enum { N = 100000 };
	struct bytes bytes = pcap_of(N);
	struct capture_frame frames[512];
	struct capture *capture;
	struct error error = {0};
	uint32_t n_read = 0;

	write_file(bytes.at, bytes.len);
	assert_true(bytes.len > 10 * BYTE_SOURCE_BLOCK);
	assert_int_equal(capture_open(path, &capture, &error), 0);
	for (size_t n; (n = capture_read(capture, frames, 512)) > 0; n_read += n)
		for (uint32_t i = 0; i < n; i++) {
			const uint8_t *expected = bytes.at + record_at(n_read + i) + 16;
			assert_memory_equal(frames[i].data, expected, 100);
			assert_int_equal(frames[i].ts_ns,
				INT64_C(1000000000000) + (int64_t)(n_read + i) * 1000);
		}

	assert_int_equal(n_read, N);
	assert_int_equal(capture_report(capture)->n_bytes, bytes.len);
	assert_string_equal(capture_report(capture)->compression, "none");
	capture_close(capture);
	free(bytes.at);
}

static void test_gzip_members_one_after_the_other(void **state)
{
	struct bytes bytes = pcap_of(2000), packed = {0};

	put_gzip(&packed, bytes.at, 5000);
	put_gzip(&packed, bytes.at + 5000, 0);
	put_gzip(&packed, bytes.at + 5000, bytes.len - 5000);
	put(&packed, "\0\0\0\0", 4); // padding
	write_file(packed.at, packed.len);
	struct outcome *outcome = read_path(path);

	assert_frames(outcome, 2000);
	assert_only(outcome, 0);
	assert_string_equal(outcome->report.compression, "gzip");
	assert_int_equal(outcome->report.n_bytes, bytes.len);
	free(bytes.at);
	free(packed.at);
}

static void test_zstd_frames_one_after_the_other(void **state)
{
	struct bytes bytes = pcap_of(2000), packed = {0};

	put_u32(&packed, ZSTD_MAGIC_SKIPPABLE_START + 3);
	put_u32(&packed, 5);
	put(&packed, "hello", 5);
	put_zstd(&packed, bytes.at, 5000);
	put_u32(&packed, ZSTD_MAGIC_SKIPPABLE_START);
	put_u32(&packed, 0);
	put_zstd(&packed, bytes.at + 5000, bytes.len - 5000);
	write_file(packed.at, packed.len);
	struct outcome *outcome = read_path(path);

	assert_frames(outcome, 2000);
	assert_only(outcome, 0);
	assert_string_equal(outcome->report.compression, "zstd");
	assert_int_equal(outcome->report.n_bytes, bytes.len);
	free(bytes.at);
	free(packed.at);
}

typedef void put_packed(struct bytes *out, const uint8_t *data, size_t len);
static put_packed *const packers[] = {put_gzip, put_zstd};

static void test_a_cut_compressed_stream_gives_what_came_before(void **state)
{
	for (size_t k = 0; k < 2; k++) {
		struct bytes bytes = pcap_of(2000), packed = {0};
		size_t n_first = record_at(1000);
		packers[k](&packed, bytes.at, n_first);
		size_t n_packed = packed.len;
		packers[k](&packed, bytes.at + n_first, bytes.len - n_first);
		write_file(packed.at, (n_packed + packed.len) / 2);

		struct outcome *outcome = read_path(path);

		assert_true(outcome->n >= 1000 && outcome->n < 2000);
		assert_frames(outcome, outcome->n);
		assert_only(outcome, 1 << CAPTURE_CUT_OFF);
		assert_int_equal(
			outcome->report.notes[CAPTURE_CUT_OFF].first_offset, record_at(outcome->n));
		free(bytes.at);
		free(packed.at);
	}
}

static void test_damaged_compressed_data_end_the_file(void **state)
{
	for (size_t k = 0; k < 2; k++) {
		struct bytes bytes = pcap_of(2000), packed = {0};
		packers[k](&packed, bytes.at, bytes.len);
		put(&packed, "no member or frame", 18);
		write_file(packed.at, packed.len);

		struct outcome *outcome = read_path(path);

		assert_frames(outcome, 2000);
		assert_only(outcome, 1 << CAPTURE_UNREADABLE);
		assert_note(outcome, CAPTURE_UNREADABLE, 1, bytes.len, EBADMSG);
		free(bytes.at);
		free(packed.at);
	}
}

// A few bytes at a time, as a slow writer gives them.
static void *write_slowly(void *argument)
{
	const struct bytes *bytes = argument;
	int fd = open(path, O_WRONLY);
	size_t at = 0;

	for (size_t step = 1; at < bytes->len; at += step, step = step * 3 % 4093) {
		if (step > bytes->len - at)
			step = bytes->len - at;
		if (write(fd, bytes->at + at, step) != (ssize_t)step)
			break;
	}
	close(fd);
	return NULL;
}

static void test_a_fifo_is_read_plain_and_compressed(void **state)
{
	for (size_t k = 0; k < 3; k++) {
		struct bytes plain = pcap_of(2000), sent = {0};
		pthread_t writer;
		if (k < 2)
			packers[k](&sent, plain.at, plain.len);
		else
			put(&sent, plain.at, plain.len);
		unlink(path);
		assert_int_equal(mkfifo(path, 0600), 0);
		assert_int_equal(pthread_create(&writer, NULL, write_slowly, &sent), 0);

		struct outcome *outcome = read_path(path);

		pthread_join(writer, NULL);
		unlink(path);
		assert_frames(outcome, 2000);
		assert_only(outcome, 0);
		free(plain.at);
		free(sent.at);
	}
}

static void test_a_minus_is_standard_input(void **state)
{
	struct bytes bytes = pcap_of(20);
	int saved = dup(STDIN_FILENO);

	write_file(bytes.at, bytes.len);
	int fd = open(path, O_RDONLY);
	dup2(fd, STDIN_FILENO);
	struct outcome *outcome = read_path("-");
	dup2(saved, STDIN_FILENO);

	assert_frames(outcome, 20);
	close(fd);
	close(saved);
	free(bytes.at);
}

static void test_a_file_without_a_byte_opens_and_is_empty(void **state)
{
	char text[256];

	write_file("", 0);
	struct outcome *outcome = read_path(path);

	assert_int_equal(outcome->n, 0);
	assert_only(outcome, 1 << CAPTURE_EMPTY);
	capture_note_text(&outcome->report, CAPTURE_EMPTY, "a.pcap", text, sizeof(text));
	assert_string_equal(text, "a.pcap: empty: no byte");
}

static void assert_refused(const char *name, int err, const char *wanted)
{
	struct capture *capture;
	struct error error = {0};
	char expected[256];

	assert_int_equal(capture_open(name, &capture, &error), err);
	assert_null(capture);
	snprintf(expected, sizeof(expected), "%s: %s", name, wanted);
	assert_string_equal(error.text, expected);
}

static void test_what_is_no_capture_is_refused_in_a_line(void **state)
{
	write_file("\x7f\x45LF and more", 14);
	assert_refused(path, -EINVAL,
		"is no capture: begins with 0x7f454c46; "
		"convert it to pcap or pcapng (plain, gzip or zstd)");
	write_file("\xd4", 1);
	assert_refused(
		path, -EINVAL, "is no capture: shorter than any; name a pcap or pcapng file");
	unlink(path);
	assert_refused(path, -ENOENT,
		"cannot be read: No such file or directory; name a pcap or pcapng file");
	assert_refused(
		folder, -EISDIR, "cannot be read: Is a directory; name a pcap or pcapng file");
	write_file("\x1f\x8b\x08nonsense", 12);
	assert_refused(
		path, -EBADMSG, "cannot be read: damaged gzip data; name a pcap or pcapng file");
}

static void test_every_note_has_a_name_and_a_line(void **state)
{
	struct capture_report report = {.format = "pcap", .compression = "gzip", .n_bytes = 9};
	char text[256];

	for (unsigned kind = 0; kind < N_CAPTURE_NOTES; kind++) {
		report.notes[kind] = (struct capture_note){.count = 3, .detail = 5};
		capture_note_text(&report, kind, "file", text, sizeof(text));
		assert_memory_equal(text, "file: ", 6);
		assert_null(strchr(text, '\n'));
		assert_true(strlen(capture_note_name(kind)) > 4);
	}
}

static int make_folder(void **state)
{
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/capture", folder);
	return 0;
}

static int remove_folder(void **state)
{
	unlink(path);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_file_of_several_blocks_is_whole),
		cmocka_unit_test(test_gzip_members_one_after_the_other),
		cmocka_unit_test(test_zstd_frames_one_after_the_other),
		cmocka_unit_test(test_a_cut_compressed_stream_gives_what_came_before),
		cmocka_unit_test(test_damaged_compressed_data_end_the_file),
		cmocka_unit_test(test_a_fifo_is_read_plain_and_compressed),
		cmocka_unit_test(test_a_minus_is_standard_input),
		cmocka_unit_test(test_a_file_without_a_byte_opens_and_is_empty),
		cmocka_unit_test(test_what_is_no_capture_is_refused_in_a_line),
		cmocka_unit_test(test_every_note_has_a_name_and_a_line),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
