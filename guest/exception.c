// SPDX-License-Identifier: GPL-2.0
/*
 * Exceptions: expected ones resume elsewhere, all others end in one line
 *
 *	error status=exception vector=14 error_code=0x2 rip=0x... cr2=0x... case op=... at=...
 *
 * and a failed exit. The case stands last, as the word `case` and its keys: pasted into the
 * console, it runs again.
 */
#include "exception.h"
#include "console.h"
#include "exit.h"
#include "io.h"
#include "layout.h"
#include "protocol.h"

#define VECTORS 32
#define STUB_SIZE 16
#define VECTOR_NMI 2
#define VECTOR_DF 8
#define IST_DF 1
#define IST_NMI 2
#define GATE_INTERRUPT 0x8e /* present, ring 0, 64-bit interrupt gate: SDM vol. 3, 6.14.1 */
#define TSS_AVAILABLE 0x89  /* present, available 64-bit TSS: SDM vol. 3, 7.2.3 */

struct gate {
	u16 offset_low, selector;
	u8 ist, type;
	u16 offset_middle;
	u32 offset_high, reserved;
};

/* SDM vol. 3, figure 7-11. */
struct tss {
	u32 reserved0;
	u64 rsp[3], reserved1, ist[7], reserved2;
	u16 reserved3, io_map;
} __attribute__((packed));

struct descriptor_pointer {
	u16 limit;
	u64 base;
} __attribute__((packed));

/* Where a fault is expected, and where to go on. */
struct recover {
	u64 fault, resume;
};

extern const char vector_stubs[];
extern char ist_df_top[], ist_nmi_top[];
extern u64 gdt[];
extern const struct recover recover_start[], recover_end[];

static struct gate idt[VECTORS] __attribute__((aligned(16)));
static struct tss tss;
static const struct ts_case *current;
static u8 reporting;

static u64 address(const void *pointer)
{
	return (unsigned long)pointer;
}

static void load_tss(void)
{
	u64 base = address(&tss), limit = sizeof(tss) - 1;

	/* Stacks of their own: a double fault may come from a bad stack, an NMI at any time. */
	tss.ist[IST_DF - 1] = address(ist_df_top);
	tss.ist[IST_NMI - 1] = address(ist_nmi_top);
	tss.io_map = sizeof(tss);
	gdt[SELECTOR_TSS / 8] = limit | (base & 0xffffff) << 16 | (u64)TSS_AVAILABLE << 40 |
				(base >> 24 & 0xff) << 56;
	gdt[SELECTOR_TSS / 8 + 1] = base >> 32;
	asm volatile("ltr %0" : : "r"((u16)SELECTOR_TSS) : "memory");
}

static void set_gate(u32 vector, u8 ist)
{
	u64 offset = address(vector_stubs) + vector * STUB_SIZE;

	idt[vector] = (struct gate){
		.offset_low = offset,
		.selector = SELECTOR_CODE,
		.ist = ist,
		.type = GATE_INTERRUPT,
		.offset_middle = offset >> 16,
		.offset_high = offset >> 32,
	};
}

void exception_init(void)
{
	struct descriptor_pointer pointer = { sizeof(idt) - 1, address(idt) };

	load_tss();
	for (u32 vector = 0; vector < VECTORS; vector++)
		set_gate(vector, 0);
	set_gate(VECTOR_DF, IST_DF);
	set_gate(VECTOR_NMI, IST_NMI);
	asm volatile("lidt %0" : : "m"(pointer));
}

void exception_case(const struct ts_case *c)
{
	current = c;
}

static void report(const struct frame *frame)
{
	static char buffer[2 * TS_MAX_LINE];
	struct ts_text text;

	ts_text_init(&text, buffer, sizeof(buffer));
	ts_put(&text, "error status=exception");
	ts_put_key_number(&text, "vector", frame->vector);
	ts_put_key_hex(&text, "error_code", frame->error_code);
	ts_put_key_hex(&text, "rip", frame->rip);
	ts_put_key_hex(&text, "cr2", read_cr2());
	if (current) {
		ts_put(&text, " case ");
		ts_case_print(&text, current);
	}
	console_reply(&text, buffer);
}

void exception(struct frame *frame)
{
	for (const struct recover *r = recover_start; r < recover_end; r++) {
		if (r->fault == frame->rip) {
			frame->rip = r->resume;
			return;
		}
	}
	/* One that strikes in the report must not report itself for ever. */
	if (!reporting) {
		reporting = 1;
		report(frame);
	}
	exit_image(1);
}
