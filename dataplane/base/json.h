#pragma once

#include <stdio.h>

// Print text as a JSON string with its quotes; NULL prints null.
void json_string(FILE *out, const char *text);
