#include "error.h"

#include <stdio.h>
#include <string.h>

void error_vset(struct error *error, const char *format, va_list args)
{
	vsnprintf(error->text, sizeof(error->text), format, args);
}

void error_set(struct error *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	error_vset(error, format, args);
	va_end(args);
}

void error_append(struct error *error, const char *format, ...)
{
	size_t used = strlen(error->text);
	va_list args;

	va_start(args, format);
	vsnprintf(error->text + used, sizeof(error->text) - used, format, args);
	va_end(args);
}

void error_prefix(struct error *error, const char *format, ...)
{
	const struct error behind = *error;
	va_list args;

	va_start(args, format);
	error_vset(error, format, args);
	va_end(args);
	error_append(error, ": %s", behind.text);
}
