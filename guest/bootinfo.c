// SPDX-License-Identifier: GPL-2.0
/*
 * What the loader says: memory map and command line.
 *
 * The structures may lie anywhere in memory, so every one of them is copied out first.
 */
#include "bootinfo.h"
#include "console.h"
#include "layout.h"
#include "memory.h"

#define RAM 1 /* the type of an E820 entry, in both maps */

/* Multiboot 0.6.96, 3.3. */
#define INFO_MEMORY (1 << 0)
#define INFO_COMMAND_LINE (1 << 2)
#define INFO_MAP (1 << 6)

struct multiboot_info {
	u32 flags, memory_low, memory_high, boot_device, command_line;
	u32 modules, modules_at, symbols[4];
	u32 map_length, map;
};

/* size does not count itself. */
struct multiboot_region {
	u32 size;
	u64 base, length;
	u32 type;
} __attribute__((packed));

/* Xen public/arch-x86/hvm/start_info.h; the memory map came with version 1. */
#define PVH_MAGIC 0x336ec578

struct pvh_info {
	u32 magic, version, flags, modules;
	u64 modules_at, command_line, rsdp, map;
	u32 map_entries, reserved;
};

struct pvh_region {
	u64 base, length;
	u32 type, reserved;
};

/*
 * What is left of a command line that is too long: whole requests, or at least whole words. Half a
 * request could be a valid one that nobody asked for (leaves=1 of leaves=16).
 */
static u32 whole_part(const char *line, u32 n)
{
	u32 end = n;

	while (n && line[n - 1] != ';')
		n--;
	if (n)
		return n;
	while (end && line[end - 1] != ' ')
		end--;
	return end;
}

/*
 * A byte of a command line as the image reads it. Quotes are blanks: GRUB puts a word with blanks
 * in it between them, and nothing here needs any. What could break a log line is a question mark.
 */
static char clean(char byte)
{
	switch (byte) {
	case '\t':
	case '\n':
	case '\r':
	case '"':
	case '\'':
		return ' ';
	}
	return byte < ' ' || byte > '~' ? '?' : byte;
}

static void copy_line(char *line, u64 physical)
{
	u32 n;

	for (n = 0; n < MAX_COMMAND_LINE; n++) {
		if (!memory_peek(&line[n], physical + n, 1) || !line[n])
			break;
		line[n] = clean(line[n]);
	}
	if (n == MAX_COMMAND_LINE) {
		n = whole_part(line, n);
		console_log("command line is longer than 4095 bytes: the rest is not read", 0, 0);
	}
	line[n] = 0;
}

static void read_multiboot_map(u64 at, u64 length)
{
	struct multiboot_region region;

	for (u64 end = at + length; at < end; at += region.size + sizeof(region.size)) {
		if (!memory_peek(&region, at, sizeof(region)))
			return;
		memory_region(region.base, region.length, region.type == RAM);
	}
}

static void read_multiboot(u64 physical, char *line)
{
	struct multiboot_info info;

	if (!memory_peek(&info, physical, sizeof(info)))
		return;
	if (info.flags & INFO_MAP)
		read_multiboot_map(info.map, info.map_length);
	else if (info.flags & INFO_MEMORY)
		memory_region(1 << 20, (u64)info.memory_high << 10, 1);
	if (info.flags & INFO_COMMAND_LINE)
		copy_line(line, info.command_line);
}

static void read_pvh(u64 physical, char *line)
{
	struct pvh_info info;
	struct pvh_region region;

	if (!memory_peek(&info, physical, sizeof(info)) || info.magic != PVH_MAGIC)
		return;
	for (u32 i = 0; info.version && i < info.map_entries; i++) {
		if (!memory_peek(&region, info.map + i * sizeof(region), sizeof(region)))
			break;
		memory_region(region.base, region.length, region.type == RAM);
	}
	if (info.command_line)
		copy_line(line, info.command_line);
}

const char *bootinfo_read(u32 loader, u64 physical, char *line)
{
	line[0] = 0;
	switch (loader) {
	case BOOT_MULTIBOOT:
		read_multiboot(physical, line);
		return "multiboot";
	case BOOT_PVH:
		read_pvh(physical, line);
		return "pvh";
	}
	return 0;
}
