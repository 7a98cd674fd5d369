#include "stream.h"

#include "tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int stream_open(struct stream *stream, const struct stream_config *config)
{
	char path[2 * TRACEFS_PATH_LEN];

	*stream = (struct stream){.config = *config, .fd = -1};
	stream->bytes = malloc(config->layout->page_bytes);
	if (stream->bytes == NULL)
		return -ENOMEM;
	snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/trace_pipe_raw", config->instance,
		config->cpu);
	stream->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (stream->fd >= 0)
		return 0;
	int err = -errno;
	stream_close(stream);
	return err;
}

void stream_close(struct stream *stream)
{
	if (stream->bytes != NULL && stream->fd >= 0)
		close(stream->fd);
	stream->fd = -1;
	free(stream->bytes);
	stream->bytes = NULL;
}

void stream_start(struct stream *stream, uint64_t stamp)
{
	stream->last_stamp = stamp;
}

// Returns false when there is no page now.
static bool read_page(struct stream *stream)
{
	const struct trace_page_layout *layout = stream->config.layout;
	ssize_t n = read(stream->fd, stream->bytes, layout->page_bytes);

	if (n == 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return false;
	int err = n < 0 ? -errno : trace_page_open(&stream->page, layout, stream->bytes, (size_t)n);
	stream->n_pages++;
	stream->error = err;
	return err == 0;
}

bool stream_next(void *source, struct event_record *out)
{
	struct stream *stream = source;
	struct trace_item item;
	uint16_t cpu = (uint16_t)stream->config.cpu;

	while (stream->error == 0) {
		while (trace_page_next(&stream->page, &item)) {
			stream->n_events++;
			stream->last_stamp = item.stamp;
			if (decoder_record(stream->config.decoder, item.data, item.len, cpu,
				    item.stamp, out))
				return true;
		}
		if (!read_page(stream))
			return false;
		if (!stream->page.has_missed || !stream->config.tells_lost)
			continue;
		*out = (struct event_record){
			.tsc = stream->last_stamp,
			.cpu = cpu,
			.kind = EVENT_LOST,
			.args = {stream->page.n_missed, stream->page.stamp},
		};
		stream->last_stamp = stream->page.stamp;
		return true;
	}
	return false;
}

uint64_t stream_lost(const struct stream *stream)
{
	static const char *const keys[] = {"\noverrun: ", "commit overrun: ", "dropped events: "};
	char name[64];
	uint64_t n = 0;

	snprintf(name, sizeof(name), "per_cpu/cpu%d/stats", stream->config.cpu);
	char *text = tracefs_read(stream->config.instance, name);
	for (size_t i = 0; text != NULL && i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *at = strstr(text, keys[i]);
		if (at != NULL)
			n += strtoull(at + strlen(keys[i]), NULL, 10);
	}
	free(text);
	return n;
}
