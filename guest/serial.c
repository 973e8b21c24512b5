/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two polled 16550 UARTs (National Semiconductor PC16550D data sheet, section 8).
 *
 * Polled, because interrupts stay off for the whole life of the image: an interrupt in a measured
 * pass would touch pages of its own. Each port access is an exit in a virtual machine, so output
 * goes in bursts as long as the FIFO behind one look at the line status.
 */
#include "serial.h"
#include "io.h"

/* Registers, as offsets from the base port. */
#define DATA 0		/* divisor low with LCR.DLAB */
#define INTERRUPTS 1	/* divisor high with LCR.DLAB */
#define FIFO 2		/* write: control; read: interrupt identification */
#define LINE_CONTROL 3
#define MODEM_CONTROL 4
#define LINE_STATUS 5
#define SCRATCH 7

#define FIFO_ENABLE 0x01
#define FIFO_IS_ON 0xc0
#define FIFO_BYTES 16
#define LCR_8N1 0x03
#define LCR_DLAB 0x80
#define MCR_DTR_RTS 0x03
#define MCR_LOOP 0x10
#define LSR_DATA 0x01
#define LSR_THRE 0x20 /* room for a full burst */
#define LSR_TEMT 0x40 /* the last bit has left */

struct uart {
	u16 base;
	u8 present;
	u8 burst;
	u8 early;	 /* a byte was waiting when the FIFO was switched on */
	char early_byte;
};

static struct uart uarts[SERIAL_PORTS] = {
	[COM1] = { .base = 0x3f8 },
	[COM2] = { .base = 0x2f8 },
};

/*
 * Is there a UART? The scratch register keeps what is written to it; where nothing answers, the
 * bus reads all ones. Without this test the wait for THRE would never end.
 */
static u8 probe(const struct uart *u)
{
	static const u8 pattern[] = { 0x5a, 0xa5 };

	for (u32 i = 0; i < TS_COUNT(pattern); i++) {
		outb(u->base + SCRATCH, pattern[i]);
		if (inb(u->base + SCRATCH) != pattern[i])
			return 0;
	}
	return 1;
}

/*
 * Switching the FIFO on empties the receiver. Input may be waiting already (a pipe into QEMU's
 * stdio): loopback mode takes the receiver off the line, so that nothing comes in between the
 * last look and the switch, and the byte that waits is kept.
 */
static void fifo_on(struct uart *u)
{
	outb(u->base + MODEM_CONTROL, MCR_LOOP);
	if (inb(u->base + LINE_STATUS) & LSR_DATA) {
		u->early = 1;
		u->early_byte = inb(u->base + DATA);
	}
	outb(u->base + FIFO, FIFO_ENABLE);
	u->burst = (inb(u->base + FIFO) & FIFO_IS_ON) == FIFO_IS_ON ? FIFO_BYTES : 1;
	outb(u->base + MODEM_CONTROL, MCR_DTR_RTS);
}

void serial_init(void)
{
	for (u32 i = 0; i < SERIAL_PORTS; i++) {
		struct uart *u = &uarts[i];

		u->present = probe(u);
		if (!u->present)
			continue;
		outb(u->base + LINE_CONTROL, LCR_DLAB | LCR_8N1);
		outb(u->base + DATA, 1); /* 1.8432 MHz / 16 / 1 = 115200 baud */
		outb(u->base + INTERRUPTS, 0);
		outb(u->base + LINE_CONTROL, LCR_8N1);
		outb(u->base + INTERRUPTS, 0);
		fifo_on(u);
	}
}

u8 serial_present(enum serial port)
{
	return uarts[port].present;
}

void serial_write(enum serial port, const char *bytes, u32 n)
{
	const struct uart *u = &uarts[port];

	if (!u->present)
		return;
	while (n) {
		while (!(inb(u->base + LINE_STATUS) & LSR_THRE))
			pause();
		for (u32 i = 0; n && i < u->burst; i++, n--)
			outb(u->base + DATA, *bytes++);
	}
}

u8 serial_read(enum serial port, char *byte)
{
	struct uart *u = &uarts[port];

	if (!u->present)
		return 0;
	if (u->early) {
		u->early = 0;
		*byte = u->early_byte;
		return 1;
	}
	if (!(inb(u->base + LINE_STATUS) & LSR_DATA))
		return 0;
	*byte = inb(u->base + DATA);
	return 1;
}

void serial_drain(void)
{
	for (u32 i = 0; i < SERIAL_PORTS; i++) {
		while (uarts[i].present && !(inb(uarts[i].base + LINE_STATUS) & LSR_TEMT))
			pause();
	}
}
