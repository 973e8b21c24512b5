/* SPDX-License-Identifier: GPL-2.0 */
/* Lines for the driver (protocol) and for a human reader (log). */
#ifndef CONSOLE_H
#define CONSOLE_H

#include "serial.h"
#include "text.h"

/* Sends protocol lines to a port from now on, or to the other one if that is absent. */
void console_protocol(enum serial port);

/* The next byte from the protocol's port: 1, or 0 when there is none yet. */
u8 console_read(char *byte);

/* Sends a finished text as one line. */
void console_reply(const struct ts_text *text, const char *start);

/* One log line on COM1 from up to three pieces (0 for fewer). */
void console_log(const char *words, const char *more, const char *end);

#endif
