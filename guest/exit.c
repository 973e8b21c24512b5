// SPDX-License-Identifier: GPL-2.0
/* How the image ends. */
#include "exit.h"
#include "io.h"
#include "serial.h"

/*
 * QEMU's isa-debug-exit makes a value v into exit code v << 1 | 1. 33 and 35 are none of QEMU's
 * own codes (0 and 1) and no signal's (128 and more).
 */
#define QEMU_EXIT_PORT 0xf4
#define QEMU_SUCCESS 0x10
#define QEMU_FAILURE 0x11

#define KEYBOARD_CONTROLLER 0x64
#define KEYBOARD_BUSY 0x02
#define KEYBOARD_PULSE_RESET 0xfe
#define KEYBOARD_PATIENCE 100000
#define RESET_CONTROL 0xcf9 /* of the chip set; 6 is a hard reset */

static enum exit_way exit_way = EXIT_HALT;

void exit_by(enum exit_way way)
{
	exit_way = way;
}

/* Three ways, the politest first; an empty IDT makes the last one a triple fault. */
static void reboot(void)
{
	static const struct {
		u16 limit;
		u64 base;
	} __attribute__((packed)) nothing = { 0 };

	for (u32 i = 0; i < KEYBOARD_PATIENCE && inb(KEYBOARD_CONTROLLER) & KEYBOARD_BUSY; i++)
		pause();
	outb(KEYBOARD_CONTROLLER, KEYBOARD_PULSE_RESET);
	outb(RESET_CONTROL, 6);
	asm volatile("lidt %0\n\tint3" : : "m"(nothing));
}

void exit_image(u8 failed)
{
	serial_drain();
	if (exit_way == EXIT_QEMU)
		outl(QEMU_EXIT_PORT, failed ? QEMU_FAILURE : QEMU_SUCCESS);
	if (exit_way == EXIT_REBOOT)
		reboot();
	for (;;)
		asm volatile("cli\n\thlt");
}
