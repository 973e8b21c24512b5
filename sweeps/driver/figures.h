/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pictures of a run: this program writes the numbers of each into a table beside it, and gnuplot draws SVG and PNG with
 * plots/NAME.gp, so that everyone can redraw it. `plot` names them, `report` takes the SVG in.
 */
#ifndef TS_FIGURES_H
#define TS_FIGURES_H

#include "ceiling.h"
#include "published.h"
#include "reach.h"

#include <jansson.h>
#include <sys/types.h>

struct figure {
	char *base;  /* path without .svg, .png, .dat */
	char *title; /* what it shows */
	char *text;  /* its numbers in words, for who cannot see it */
	pid_t drawing; /* gnuplot, until it was waited for */
};

struct figures {
	struct figure *figure;
	size_t count;
};

/* What they are drawn from, and where. */
struct figures_from {
	const struct rows *rows;
	const struct cells *cells; /* all of them */
	const struct reach *reach;
	const struct ceiling *ceiling; /* 0 when nothing of it was asked */
	const struct published *published;
	const char *prefix; /* of every path: "DIR/", "DIR/RUN-" */
	const char *stamp;  /* "" or what marks every picture: these are no numbers of hardware */
	const char *kinds;  /* "svg", or "svg png" */
};

/* Draws what there is to draw; a problem is missing or failing gnuplot, or a file that cannot be written. */
int figures_draw(const struct figures_from *from, struct figures *figures, struct problem *problem);
void figures_free(struct figures *figures);

/* ---- for the files that draw one kind of picture ---- */

/* A picture in the making; texts belong to whoever made it. */
struct drawing {
	const char *script;  /* plots/SCRIPT.gp */
	const char *unit;    /* label of the value axis */
	const char *heading; /* in the picture; 0: CPU and target */
	char *note;	     /* samples and intervals, in the picture */
	char *title, *text;  /* see struct figure */
};

/*
 * DIR/NAME.dat, opened for writing; 0 with *problem. *base: its path without ending, the caller's to free; no other of
 * figures has the same.
 */
FILE *figure_data(const struct figures_from *from, const struct figures *figures, const char *name, char **base,
		  struct problem *problem);

/* Starts to draw base and adds it to the list; takes base, note, title and text of drawing. */
int figure_draw(const struct figures_from *from, struct figures *figures, char *base,
		const struct drawing *drawing);

/* "medians over 3 repeats of 100 iterations" of the outcomes of a phase; the caller frees. */
char *figure_samples(const struct cells *cells, u64 phase);

int figure_fracture(const struct figures_from *from, u64 phase, struct figures *figures,
		    struct problem *problem);
int figure_events(const struct figures_from *from, struct figures *figures, struct problem *problem);
int figure_heat(const struct figures_from *from, struct figures *figures, struct problem *problem);
int figure_published(const struct figures_from *from, struct figures *figures, struct problem *problem);
int figure_ceiling(const struct figures_from *from, struct figures *figures, struct problem *problem);
int figure_reach(const struct figures_from *from, struct figures *figures, struct problem *problem);

#endif
