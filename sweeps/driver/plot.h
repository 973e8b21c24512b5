/* SPDX-License-Identifier: GPL-2.0 */
/* Drawing by gnuplot. */
#ifndef TS_PLOT_H
#define TS_PLOT_H

#include "problem.h"

/*
 * Runs gnuplot on a script with the variables data (a table), base (picture without ending), heading
 * and unit set; 0 when it drew BASE.svg and BASE.png.
 */
int plot_draw(const char *script, const char *data, const char *base, const char *title,
	      const char *unit, struct problem *problem);

#endif
