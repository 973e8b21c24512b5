/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Entry of the bare-metal image: from the 32-bit state that a multiboot or PVH loader leaves
 * behind to 64-bit C.
 *
 * Paging is switched on with tables of 4K leaves only and no large leaf ever exists outside the
 * window under test. That is the point of this file: a CPU (or QEMU's soft TLB) may remember
 * that a large page was seen and flush more from then on, so a 2M identity map used for the few
 * instructions of a usual boot path could spoil every measurement made afterwards.
 */
#include "layout.h"

#define MULTIBOOT_HEADER_MAGIC 0x1badb002 /* Multiboot 0.6.96, 3.1.1 */
#define MULTIBOOT_LOADER_MAGIC 0x2badb002 /* Multiboot 0.6.96, 3.2 */
#define MULTIBOOT_MEMORY_INFO (1 << 1)
#define MULTIBOOT_ADDRESSES (1 << 16)
#define MULTIBOOT_FLAGS (MULTIBOOT_MEMORY_INFO | MULTIBOOT_ADDRESSES)

#define XEN_ELFNOTE_PHYS32_ENTRY 18 /* Xen public/elfnote.h: 32-bit entry point of a PVH guest */

#define CR0_BOOT 0x80010033 /* PG WP NE ET MP PE; caches on (CD, NW clear). SDM vol. 3, 2.5 */
#define CR4_PAE (1 << 5)
#define MSR_EFER 0xc0000080
#define EFER_LME (1 << 8)
#define EFER_NXE (1 << 11)
#define CPUID_LM (1 << 29) /* CPUID.80000001H:EDX */
#define CPUID_NX (1 << 20)

#define TABLE_FLAGS 0x23 /* P W A */
#define LEAF_FLAGS 0x63	 /* P W A D: set beforehand, so that no walk has to write them */

#define COM1 0x3f8

/*
 * The address fields (flag bit 16) are what lets a multiboot loader take a 64-bit ELF: QEMU and
 * GRUB then copy bytes by these fields and do not read the ELF header at all.
 */
	.section .multiboot, "ax"
	.balign 4
multiboot_header:
	.long MULTIBOOT_HEADER_MAGIC
	.long MULTIBOOT_FLAGS
	.long -(MULTIBOOT_HEADER_MAGIC + MULTIBOOT_FLAGS)
	.long multiboot_header
	.long image_start
	.long load_end
	.long image_end
	.long multiboot_start

/* Descriptor of 8 bytes and alignment of 4, as Linux has it: QEMU reads a full 64-bit word. */
	.section .note.pvh, "a", @note
	.balign 4
	.long 4
	.long 8
	.long XEN_ELFNOTE_PHYS32_ENTRY
	.asciz "Xen"
	.quad pvh_start

	.section .text.boot, "ax"
	.code32
	.globl multiboot_start, pvh_start
/* EAX is the loader's magic, EBX the address of its information (Multiboot 0.6.96, 3.2). */
multiboot_start:
	mov $BOOT_MULTIBOOT, %edi
	cmp $MULTIBOOT_LOADER_MAGIC, %eax
	je 1f
	xor %edi, %edi
1:	jmp start

/* EBX is the address of hvm_start_info (Xen docs/misc/pvh.pandoc). */
pvh_start:
	mov $BOOT_PVH, %edi

start:
	cli
	cld
	mov $stack_top, %esp
	mov %ebx, %esi

	/* Long mode at all? CPUID changes EBX, ECX, EDX; EDI and ESI stay. */
	mov $0x80000000, %eax
	cpuid
	cmp $0x80000001, %eax
	jb no_long_mode
	mov $0x80000001, %eax
	cpuid
	test $CPUID_LM, %edx
	jz no_long_mode
	mov %edx, %ebp

	/* Every page of the image, and nothing else; memory.c takes rights away again. */
	mov $image_start, %eax
1:	mov %eax, %ecx
	shr $12, %ecx
	lea LEAF_FLAGS(%eax), %edx
	mov %edx, boot_pt(, %ecx, 8)
	add $4096, %eax
	cmp $image_end, %eax
	jb 1b

	/* Four page tables below one PD: 8 MiB. */
	mov $boot_pt + TABLE_FLAGS, %eax
	xor %ecx, %ecx
2:	mov %eax, boot_pd(, %ecx, 8)
	add $4096, %eax
	inc %ecx
	cmp $4, %ecx
	jb 2b
	movl $boot_pd + TABLE_FLAGS, boot_pdpt
	movl $boot_pdpt + TABLE_FLAGS, boot_root

	/* SDM vol. 3, 9.8.5: PAE, CR3, EFER.LME, then CR0.PG. */
	mov $CR4_PAE, %eax
	mov %eax, %cr4
	mov $boot_root, %eax
	mov %eax, %cr3
	mov $MSR_EFER, %ecx
	rdmsr
	or $EFER_LME, %eax
	test $CPUID_NX, %ebp
	jz 3f
	or $EFER_NXE, %eax
3:	wrmsr
	mov $CR0_BOOT, %eax
	mov %eax, %cr0
	lgdt gdt_pointer
	ljmp $SELECTOR_CODE, $long_mode

/* A 32-bit CPU gets its own last words: nothing of the C code can run on it. */
no_long_mode:
	mov $no_long_mode_line, %esi
1:	mov $COM1 + 5, %dx
	mov $100000, %ecx
2:	in %dx, %al
	test $0x20, %al /* transmitter holding register empty; give up on a silent port */
	loopz 2b
	lodsb
	test %al, %al
	jz 3f
	mov $COM1, %dx
	out %al, %dx
	jmp 1b
3:	hlt
	jmp 3b

	.code64
long_mode:
	mov $SELECTOR_DATA, %eax
	mov %eax, %ds
	mov %eax, %es
	mov %eax, %ss
	xor %eax, %eax
	mov %eax, %fs
	mov %eax, %gs
	/* The upper halves are undefined after a mode switch (SDM vol. 1, 3.4.1.1). */
	mov $stack_top, %esp
	mov %edi, %edi
	mov %esi, %esi
	xor %ebp, %ebp
	call guest_main
1:	hlt
	jmp 1b

	.section .rodata
no_long_mode_line:
	.asciz "error status=no-feature word=lm hint=\"the guest image needs a 64-bit CPU\"\n"

/* Writable: LTR marks the TSS busy in its descriptor. Accessed bits are set beforehand. */
	.data
	.balign 8
	.globl gdt
gdt:
	.quad 0
	.quad 0x00af9b000000ffff /* 64-bit code, ring 0 */
	.quad 0x00cf93000000ffff /* data */
	.quad 0			 /* TSS, two slots, filled by exception.c */
	.quad 0
gdt_end:
gdt_pointer:
	.word gdt_end - gdt - 1
	.quad gdt

/* An overflow runs into the unmapped page below a stack: a double fault, on a stack of its own. */
	.section .bss.stack, "aw", @nobits
	.balign 4096
	.globl stack_guard, stack_top
stack_guard:
	.skip GUARD_SIZE
	.skip STACK_SIZE
stack_top:

	.section .bss.ist, "aw", @nobits
	.balign 4096
	.globl ist_df_guard, ist_df_top, ist_nmi_guard, ist_nmi_top
ist_df_guard:
	.skip GUARD_SIZE
	.skip IST_SIZE
ist_df_top:
ist_nmi_guard:
	.skip GUARD_SIZE
	.skip IST_SIZE
ist_nmi_top:

	.section .bss.tables, "aw", @nobits
	.balign 4096
	.globl boot_root, boot_pdpt, boot_pd, boot_pt
boot_root:
	.skip 4096
boot_pdpt:
	.skip 4096
boot_pd:
	.skip 4096
boot_pt:
	.skip 4 * 4096

	.section .note.GNU-stack, "", @progbits
