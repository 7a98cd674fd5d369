#include "log.h"

#include <stdarg.h>
#include <stdio.h>

static const char *log_program = "taut";
static enum log_level log_limit = LOG_LEVEL_INFO;

void log_start(const char *program, enum log_level level)
{
	log_program = program;
	log_limit = level;
}

void log_write(enum log_level level, const char *format, ...)
{
	char text[1024];
	va_list args;

	if (level > log_limit)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	// One call, one line: the lines of two processes do not mix.
	fprintf(stderr, "%s: %s\n", log_program, text);
}
