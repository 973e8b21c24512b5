/* SPDX-License-Identifier: GPL-2.0 */
/* How the image ends. */
#ifndef EXIT_H
#define EXIT_H

#include "types.h"

enum exit_way { EXIT_HALT, EXIT_QEMU, EXIT_REBOOT };

/* What exit_image() is to do; halt until it is called. */
void exit_by(enum exit_way way);

/* Sends what is left in the UARTs and ends; on QEMU with code 33, or 35 if failed. */
void exit_image(u8 failed) __attribute__((noreturn));

#endif
