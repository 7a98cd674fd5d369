#include "out_file.h"

#include <errno.h>
#include <stdio.h>

enum { NS_PER_S = 1000000000 };

int out_path(const char *folder, const char *name, char path[static OUT_PATH_LEN])
{
	int len = snprintf(path, OUT_PATH_LEN, "%s/%s", folder, name);

	return len < 0 || len >= OUT_PATH_LEN ? -ENAMETOOLONG : 0;
}

int out_file_create(
	const char *folder, const char *name, enum record_kind kind, struct record_file *file)
{
	const struct record_file_header header = {
		.n_flows = 1,
		.nominal_tsc_hz = NS_PER_S,
		.first = {.tsc = 1},
		.last = {.tsc = NS_PER_S + 1, .mono_raw_ns = NS_PER_S},
		.thread = "count",
	};
	char path[OUT_PATH_LEN];
	int err = out_path(folder, name, path);

	return err == 0 ? record_file_create(file, path, kind, &header) : err;
}

int out_file_close(struct record_file *file)
{
	return record_file_close(file, &file->header.last);
}
