/* SPDX-License-Identifier: GPL-2.0 */
/* Exceptions end in one error line, never in a silent reset. */
#ifndef EXCEPTION_H
#define EXCEPTION_H

#include "case.h"

/* What vectors.S leaves on the stack, upwards. */
struct frame {
	u64 r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, rdx, rcx, rax;
	u64 vector, error_code;
	u64 rip, cs, rflags, rsp, ss;
};

/* Loads TSS and IDT. */
void exception_init(void);

/* The case that an exception from now on is to name; 0 for none. */
void exception_case(const struct ts_case *c);

/* Called by vectors.S. */
void exception(struct frame *frame);

#endif
