#include "record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

size_t record_size_of(enum record_kind kind)
{
	switch (kind) {
	case RECORD_PACKET:
		return sizeof(struct packet_record);
	case RECORD_GAP:
		return sizeof(struct gap_record);
	case RECORD_EVENT:
		return sizeof(struct event_record);
	case RECORD_INJECTION:
		return sizeof(struct injection_record);
	case RECORD_HISTOGRAM:
		return sizeof(struct histogram_record);
	case RECORD_FRAME:
		return sizeof(struct frame_record);
	case RECORD_TIME_COUNT:
		return sizeof(struct time_count_record);
	case RECORD_PACKET_BLOCK:
		return sizeof(struct packet_block);
	case RECORD_STAMP:
		return sizeof(struct stamp_record);
	}
	return 0;
}

// A write may be cut short by a signal or by a disk that is nearly full.
static int write_all(int fd, const void *data, size_t len)
{
	const char *from = data;

	while (len > 0) {
		ssize_t n = write(fd, from, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		from += n;
		len -= (size_t)n;
	}
	return 0;
}

int record_file_create(struct record_file *file, const char *path, enum record_kind kind,
	const struct record_file_header *header)
{
	file->error = 0;
	file->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (file->fd < 0)
		return -errno;

	file->header = *header;
	memcpy(file->header.magic, RECORD_MAGIC, sizeof(file->header.magic));
	file->header.version = RECORD_VERSION;
	file->header.kind = (uint16_t)kind;
	// Only records of frames have a size of their own: bytes follow them.
	if (kind != RECORD_FRAME || header->record_size == 0)
		file->header.record_size = (uint32_t)record_size_of(kind);
	file->header.n_records = 0;

	int err = write_all(file->fd, &file->header, sizeof(file->header));
	if (err < 0) {
		close(file->fd);
		file->fd = -1;
	}
	return err;
}

int record_file_append(struct record_file *file, const void *records, size_t n)
{
	if (file->error == 0)
		file->error = write_all(file->fd, records, n * file->header.record_size);
	if (file->error == 0)
		file->header.n_records += n;
	return file->error;
}

int record_file_close(struct record_file *file, const struct clock_point *last)
{
	int err = file->error;

	if (file->fd < 0)
		return 0;
	file->header.last = *last;
	ssize_t n = pwrite(file->fd, &file->header, sizeof(file->header), 0);
	if (n != (ssize_t)sizeof(file->header) && err == 0)
		err = n < 0 ? -errno : -EIO;
	// Network file systems report a full disk only here.
	if (close(file->fd) < 0 && err == 0)
		err = -errno;
	file->fd = -1;
	return err;
}
