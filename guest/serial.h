/* SPDX-License-Identifier: GPL-2.0 */
/* Two polled 16550 UARTs. */
#ifndef SERIAL_H
#define SERIAL_H

#include "types.h"

enum serial { COM1, COM2, SERIAL_PORTS };

/* Finds the UARTs and sets them to 115200 8n1, without losing input that is already waiting. */
void serial_init(void);

u8 serial_present(enum serial port);

/* Sends n bytes; a port that is absent swallows them. */
void serial_write(enum serial port, const char *bytes, u32 n);

/* 1 and the next byte in *byte, or 0 when there is none yet. */
u8 serial_read(enum serial port, char *byte);

/* Waits until the last byte has left both ports, so that a reset does not cut it off. */
void serial_drain(void);

#endif
