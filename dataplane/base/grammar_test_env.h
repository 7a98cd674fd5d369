#pragma once

// The cases of tests/data/grammar.txt, which Python's tests go through as well. Include it behind
// cmocka.h.

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// meaning NULL: the text must be refused.
typedef void (*grammar_check)(const char *text, const char *meaning);

// Go through all cases of one kind: rate, duration, signed_duration, cpus, transmit, wait, over,
// frame, size, port, pci.
static inline void grammar_cases(const char *kind, grammar_check check)
{
	FILE *file = fopen(GRAMMAR, "re");
	size_t kind_len = strlen(kind);
	char line[128];
	int n_good = 0, n_bad = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		char *end = strrchr(line, '"');
		if (strncmp(line, kind, kind_len) != 0 || strncmp(line + kind_len, " \"", 2) != 0)
			continue;
		char *text = line + kind_len + 2;
		assert_non_null(end);
		assert_true(end >= text);
		*end = '\0';
		char *meaning = end + 1 + strspn(end + 1, " ");
		meaning[strcspn(meaning, "\n")] = '\0';
		bool is_refused = strcmp(meaning, "refused") == 0;
		check(text, is_refused ? NULL : meaning);
		n_good += !is_refused;
		n_bad += is_refused;
	}
	fclose(file);
	assert_true(n_good > 5 && n_bad > 5);
}
