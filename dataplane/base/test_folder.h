#pragma once

// A folder for the files of a test program, as the fixtures of its group: an assertion that fails
// jumps out of its test, and what the test would have removed stays.

#include <stdio.h>
#include <stdlib.h>

static char test_folder[] = "/tmp/taut-test-XXXXXX";

static inline int test_folder_make(void **state)
{
	return mkdtemp(test_folder) == NULL ? -1 : 0;
}

static inline int test_folder_remove(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", test_folder);
	return system(command);
}
