#pragma once

// Lines for people, on standard error: "taut-forward: TEXT". Start-up, shutdown and once-a-second
// status only; never from the hot path.

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_INFO,
};

// Lines begin with program, which must outlive all calls; lines above level are dropped.
void log_start(const char *program, enum log_level level);

__attribute__((format(printf, 2, 3))) void log_write(enum log_level level, const char *format, ...);

// LOG(WARNING, "port %s: no link", name)
#define LOG(level, ...) log_write(LOG_LEVEL_##level, __VA_ARGS__)
