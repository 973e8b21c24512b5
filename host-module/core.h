/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included before passes.c: noinline, which the kernel predefines as a whole attribute, is a word
 * inside of one there.
 */
#undef noinline
