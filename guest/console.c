// SPDX-License-Identifier: GPL-2.0
/* Lines for the driver (protocol) and for a human reader (log). */
#include "console.h"

static enum serial protocol_port = COM1;

void console_protocol(enum serial port)
{
	protocol_port = port;
	if (!serial_present(port))
		protocol_port = port == COM1 ? COM2 : COM1;
}

u8 console_read(char *byte)
{
	return serial_read(protocol_port, byte);
}

void console_reply(const struct ts_text *text, const char *start)
{
	serial_write(protocol_port, start, text->at - start);
	serial_write(protocol_port, "\n", 1);
}

static void log_piece(const char *piece)
{
	if (piece)
		serial_write(COM1, piece, ts_length(piece));
}

void console_log(const char *words, const char *more, const char *end)
{
	log_piece("log ");
	log_piece(words);
	log_piece(more);
	log_piece(end);
	log_piece("\n");
}
