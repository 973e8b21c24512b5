/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The only way from a probe to a file or a program: this machine's, or those recorded in a tree.
 *
 * A tree holds copies of files (DIR/proc/..., DIR/sys/...), a word for each device that was tried
 * (DIR/dev/kvm: ok or denied), and under DIR/tlbscope one text for each observation that is not a
 * file: CPUID leaves, versions of programs, what a measurement said.
 */
#ifndef TS_PROBE_FILE_H
#define TS_PROBE_FILE_H

#include <stddef.h>

/* From now on everything comes out of a tree. 0 or -errno. */
int probe_file_root(const char *dir);
/* Is that so? */
int probe_file_replayed(void);

/* From now on a copy of what is read goes into a new directory. 0 or -errno. */
int probe_file_record(const char *dir);

/*
 * Text of a file, cut to size - 1 bytes, without the line ends behind it; bytes that are no text
 * become '?'. Its length; -errno; -EINVAL for what is no regular file.
 */
int probe_read(const char *path, char *text, size_t size);

/* The number at the start of a file. 0; -errno; -EDOM when there is none. */
int probe_number(const char *path, long long *number);

/* Is a file there? 1, 0, or -errno when that cannot be told. */
int probe_exists(const char *path);

/* May this user read and write a device? 0, -ENOENT, -EACCES, or another -errno. */
int probe_device(const char *path);

/*
 * What is no file: take() fills text (one line or more) on this machine; a tree has it as
 * tlbscope/NAME. 0; -ENOENT when a tree does not have it; what take() returned.
 */
int probe_observe(const char *name, int (*take)(const void *context, char *text, size_t size),
		  const void *context, char *text, size_t size);

/* Is the user root? Not when a tree does not say so. */
int probe_is_root(void);

#endif
