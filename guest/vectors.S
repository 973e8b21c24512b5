/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Entry stubs of the 32 exception vectors. They bring every exception to one frame layout
 * (struct frame, exception.h) and come back only when exception() has set another RIP.
 */

/* Vectors with an error code: SDM vol. 3, table 6-1; 21, 29 and 30 from APM vol. 2, table 8-1. */
#define ERROR_CODE_VECTORS 0x60227d00

	.text
	.altmacro
	.macro stub vector
	.balign 16
	.if (ERROR_CODE_VECTORS >> \vector) & 1
	.else
	push $0
	.endif
	push $\vector
	jmp common
	.endm

/* One stub each 16 bytes: the IDT is filled from this base. */
	.balign 16
	.globl vector_stubs
vector_stubs:
	.set n, 0
	.rept 32
	stub %n
	.set n, n + 1
	.endr

common:
	cld
	push %rax
	push %rcx
	push %rdx
	push %rbx
	push %rbp
	push %rsi
	push %rdi
	push %r8
	push %r9
	push %r10
	push %r11
	push %r12
	push %r13
	push %r14
	push %r15
	mov %rsp, %rdi
	/* The CPU aligned RSP to 16 before it pushed 5 words; with 17 more it is aligned again. */
	call exception
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %r11
	pop %r10
	pop %r9
	pop %r8
	pop %rdi
	pop %rsi
	pop %rbp
	pop %rbx
	pop %rdx
	pop %rcx
	pop %rax
	add $16, %rsp
	iretq

	.section .note.GNU-stack, "", @progbits
