#include "text_lines.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

static const char blanks[] = " \t\r\n";

int text_lines_open(struct text_lines *lines, const char *path, struct error *error)
{
	struct stat status;
	int err = 0;

	text_lines_read(lines, NULL, path);
	if (stat(path, &status) == 0 && S_ISFIFO(status.st_mode)) {
		error_set(error, "%s: a pipe can be read but once; write it to a file", path);
		return -EINVAL;
	}
	lines->file = fopen(path, "re");
	if (lines->file == NULL)
		err = -errno;
	if (err < 0)
		error_set(error, "%s: %s; name a text file that can be read", path, strerror(-err));
	return err;
}

void text_lines_read(struct text_lines *lines, FILE *file, const char *path)
{
	lines->file = file;
	lines->path = path;
	lines->number = 0;
	lines->end_column = 1;
	lines->n = 0;
}

void text_lines_close(struct text_lines *lines)
{
	if (lines->file != NULL)
		fclose(lines->file);
	lines->file = NULL;
}

int text_lines_fail(const struct text_lines *lines, unsigned int column, struct error *error,
	const char *format, ...)
{
	va_list args;

	va_start(args, format);
	error_vset(error, format, args);
	va_end(args);
	error_prefix(error, "%s:%lu:%u", lines->path, lines->number, column);
	return -EINVAL;
}

// The next line into lines->line, without its end. Byte by byte: a NUL in it must show, too.
static int read_line(struct text_lines *lines, struct error *error)
{
	unsigned int len = 0;
	int byte;

	lines->number++;
	while ((byte = getc_unlocked(lines->file)) != EOF && byte != '\n') {
		if ((byte < ' ' && strchr(blanks, byte) == NULL) || byte == '\0' || byte == 0x7f)
			return text_lines_fail(lines, len + 1, error,
				"byte 0x%02x is no text; name a text file", (unsigned int)byte);
		if (len == TEXT_LINE_MAX - 1)
			return text_lines_fail(lines, len + 1, error,
				"a line may have %d bytes; break it", TEXT_LINE_MAX - 1);
		lines->line[len++] = (char)byte;
	}
	lines->line[len] = '\0';
	if (ferror(lines->file)) {
		int err = errno != 0 ? -errno : -EIO;
		error_set(error, "%s: %s; name a text file that can be read", lines->path,
			strerror(-err));
		return err;
	}
	return byte != EOF || len > 0;
}

static int part_tokens(struct text_lines *lines, struct error *error)
{
	char *at = lines->line + strspn(lines->line, blanks);

	lines->n = 0;
	while (*at != '\0' && *at != '#') {
		unsigned int column = (unsigned int)(at - lines->line) + 1;
		if (lines->n == TEXT_TOKENS_MAX)
			return text_lines_fail(lines, column, error,
				"a line may have %d words; break it", TEXT_TOKENS_MAX);
		lines->tokens[lines->n++] = (struct text_token){at, column};
		at += strcspn(at, blanks);
		lines->end_column = (unsigned int)(at - lines->line) + 1;
		if (*at == '\0')
			break;
		*at++ = '\0';
		at += strspn(at, blanks);
	}
	return 0;
}

int text_lines_next(struct text_lines *lines, struct error *error)
{
	int result = 1;

	lines->n = 0;
	while (result == 1 && lines->n == 0) {
		result = read_line(lines, error);
		if (result == 1 && part_tokens(lines, error) < 0)
			result = -EINVAL;
	}
	return result;
}
