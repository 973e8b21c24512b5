/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Encodings of a core's events, as perf writes them: event=0x08,umask=0x10,cmask=1,inv=1,edge=1.
 * The word that they make has the layout of IA32_PERFEVTSELx (SDM vol. 3, 20.2.1.1) and PERF_CTL
 * (APM vol. 2, 13.2.1), which is also that of perf's raw x86 config: bits 0-7 event, 8-15 umask, 18
 * edge, 23 inv, 24-31 cmask, 32-35 bits 8-11 of AMD's events.
 */
#ifndef TS_ENCODING_H
#define TS_ENCODING_H

#include "types.h"

#include <stddef.h>

/* The bits that choose an event; the others say where and whether it counts. */
#define ENCODING_BITS 0xfff84ffffULL

/* 0, or -EINVAL: an unknown or doubled word, a value that does not fit, no event. */
int encoding_parse(const char *text, u64 *config);

/* The same text again; event and umask always, the others if set. */
const char *encoding_print(u64 config, char *text, size_t size);

#endif
