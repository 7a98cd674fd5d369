#include "json.h"

void json_string(FILE *out, const char *text)
{
	if (text == NULL) {
		fputs("null", out);
		return;
	}
	fputc('"', out);
	for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
		if (*at == '"' || *at == '\\')
			fprintf(out, "\\%c", *at);
		else if (*at < 0x20)
			fprintf(out, "\\u%04x", *at);
		else
			fputc(*at, out);
	}
	fputc('"', out);
}
