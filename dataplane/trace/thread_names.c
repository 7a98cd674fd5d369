#include "thread_names.h"

#include "decode.h"
#include "tracefs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMM_LEN = 15 };

void thread_names_ask(struct name_map *threads, size_t *n_asked, struct pace *pace)
{
	if (threads->n == *n_asked)
		return;
	*n_asked = threads->n;
	for (size_t i = 0; i < threads->n_slots; i++) {
		struct name_entry *entry = &threads->entries[i];
		char path[64], comm[COMM_LEN + 2];
		if (!entry->is_used || (entry->tag & THREAD_ASKED) != 0)
			continue;
		entry->tag |= THREAD_ASKED;
		if (entry->text[0] != '\0' || entry->key == 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%" PRIu64 "/comm", entry->key);
		FILE *file = fopen(path, "re");
		if (file == NULL)
			continue;
		if (fgets(comm, sizeof(comm), file) != NULL)
			name_entry_set(entry, comm, strcspn(comm, "\n"));
		fclose(file);
		pace_step(pace);
	}
}

void thread_names_fill(struct name_map *threads, const char *tracefs_root)
{
	char *text = tracefs_read(tracefs_root, "saved_cmdlines");

	for (char *line = text; line != NULL && *line != '\0';) {
		char *name;
		char *next = strchr(line, '\n');
		uint64_t thread = strtoull(line, &name, 10);
		size_t len = next == NULL ? strlen(name) : (size_t)(next - name);
		const struct name_entry *known = name_map_find(threads, thread);
		if (name != line && len > 1 && known != NULL && known->text[0] == '\0')
			name_entry_set(name_map_take(threads, thread), name + 1, len - 1);
		line = next == NULL ? NULL : next + 1;
	}
	free(text);
}
