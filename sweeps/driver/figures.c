// SPDX-License-Identifier: GPL-2.0
/* What all pictures have in common: their data file, the call of gnuplot, the list. */
#include "figures.h"

#include "util.h"

#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int has_base(const struct figures *figures, const char *base)
{
	size_t i;

	for (i = 0; i < figures->count; i++)
		if (!strcmp(figures->figure[i].base, base))
			return 1;
	return 0;
}

FILE *figure_data(const struct figures_from *from, const struct figures *figures, const char *name, char **base,
		  struct problem *p)
{
	char *path, *at, *plain = xstrdup(name);
	unsigned int number = 1;
	FILE *out;

	for (at = plain; *at; at++) /* names of events are anything */
		*at = *at == '/' || *at <= ' ' ? '_' : *at;
	*base = xasprintf("%s%s", from->prefix, plain);
	while (has_base(figures, *base)) { /* two names became one: a/b and a_b */
		free(*base);
		*base = xasprintf("%s%s-%u", from->prefix, plain, ++number);
	}
	free(plain);
	path = xasprintf("%s.dat", *base);
	out = fopen(path, "we");
	if (!out)
		problem(p, EXIT_INPUT, "%s: %s", path, strerror(errno));
	free(path);
	return out;
}

/*
 * A text as gnuplot's '...', in which a quote is doubled; caller frees. gnuplot takes a doubled quote at the start for the
 * end of an empty text, so that a text beginning with one gets a blank before it (no path does: see settings()).
 */
static char *gnuplot_text(const char *text)
{
	char *out = xcalloc(1, 2 * strlen(text) + 4), *to = out;

	*to++ = '\'';
	if (*text == '\'')
		*to++ = ' ';
	for (; *text; text++) {
		if (*text == '\'')
			*to++ = '\'';
		*to++ = *text;
	}
	*to = '\'';
	return out;
}

/*
 * "data='...'; base='...'; ..." for gnuplot -e; the caller frees. A path that begins with < or | would be a command to
 * gnuplot, so that none begins with what a directory is called.
 */
static char *settings(const char *base, const char *heading, const struct drawing *drawing,
		      const struct figures_from *from)
{
	const char *here = *base == '/' ? "" : "./";
	const struct {
		const char *name, *before, *value, *after;
	} variables[] = {
		{ "data", here, base, ".dat" }, { "base", here, base, "" }, { "heading", "", heading, "" },
		{ "unit", "", drawing->unit, "" }, { "note", "", drawing->note, "" },
		{ "stamp", "", from->stamp, "" }, { "kinds", "", from->kinds, "" },
	};
	char *text = xstrdup(""), *value, *quoted, *next;
	size_t i;

	for (i = 0; i < TS_COUNT(variables); i++) {
		value = xasprintf("%s%s%s", variables[i].before, variables[i].value, variables[i].after);
		quoted = gnuplot_text(value);
		next = xasprintf("%s%s=%s; ", text, variables[i].name, quoted);
		free(value);
		free(quoted);
		free(text);
		text = next;
	}
	return text;
}

/* What a whole file of each kind ends with (PNG: the chunk IEND; SVG: its element). */
static const struct {
	const char *kind, *mark;
} picture_ends[] = { { "svg", "</svg>" }, { "png", "IEND" } };

/*
 * Starts gnuplot with variables set; -errno when it cannot be started. All pictures are drawn side by side: each is little
 * work and much start.
 */
static pid_t start_gnuplot(const char *script, const char *set)
{
	const char *const argv[] = { "gnuplot", "-e", set, script, NULL };
	pid_t pid;
	int error = posix_spawnp(&pid, "gnuplot", NULL, NULL, (char *const *)argv, environ);

	return error ? -error : pid;
}

/* Removes the pictures of an earlier time, which would be taken for new ones if gnuplot drew none. */
static void remove_pictures(const char *base, const char *kinds)
{
	size_t i;

	for (i = 0; i < TS_COUNT(picture_ends); i++) {
		char *path = xasprintf("%s.%s", base, picture_ends[i].kind);

		if (strstr(kinds, picture_ends[i].kind))
			unlink(path);
		free(path);
	}
}

/* Does the file end as a whole one of its kind does? */
static int is_whole(const char *path, const char *mark, size_t length)
{
	char end[16] = "";
	FILE *file = fopen(path, "rbe");
	int whole = file && !fseek(file, -(long)sizeof(end), SEEK_END) &&
		    fread(end, 1, sizeof(end), file) == sizeof(end) && memmem(end, sizeof(end), mark, length);

	if (file)
		fclose(file);
	return whole;
}

/* gnuplot says nothing when a disk is full. A cut picture is removed. */
static int check_whole(const char *base, const char *kinds, struct problem *p)
{
	int result = 0;
	size_t i;

	for (i = 0; i < TS_COUNT(picture_ends); i++) {
		const char *kind = picture_ends[i].kind, *mark = picture_ends[i].mark;
		char *path = xasprintf("%s.%s", base, kind);

		if (strstr(kinds, kind) && !is_whole(path, mark, strlen(mark))) {
			unlink(path);
			result = problem(p, EXIT_FAILED, "%s: gnuplot did not write it to its end; is the disk full?",
					 path);
		}
		free(path);
	}
	return result;
}

/* Waits for one picture; 0 when it was drawn. */
static int wait_for(struct figure *figure, const char *kinds, struct problem *p)
{
	pid_t pid = figure->drawing;
	int status;

	figure->drawing = 0;
	if (pid == -ENOENT)
		return problem(p, EXIT_INPUT, "gnuplot is not installed: no pictures; install gnuplot-nox");
	if (pid < 0)
		return problem(p, EXIT_FAILED, "gnuplot cannot be started: %s", strerror(-pid));
	if (waitpid(pid, &status, 0) != pid)
		return problem(p, EXIT_FAILED, "gnuplot: %s", strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return problem(p, EXIT_FAILED, "gnuplot failed on %s.dat", strrchr(figure->base, '/') + 1);
	return check_whole(figure->base, kinds, p);
}

int figure_draw(const struct figures_from *from, struct figures *figures, char *base,
		const struct drawing *drawing)
{
	const struct row *row = from->rows->row;
	char *name = xasprintf("plots/%s.gp", drawing->script), *script = data_path(name);
	char *heading = drawing->heading ? xstrdup(drawing->heading) :
					   xasprintf("%s, target %s", row->cpu, row->target);
	char *set = settings(base, heading, drawing, from);
	pid_t pid;

	remove_pictures(base, from->kinds);
	pid = start_gnuplot(script, set);
	free(name);
	free(script);
	free(set);
	free(heading);
	free(drawing->note);
	figures->figure = xrealloc(figures->figure, (figures->count + 1) * sizeof(*figures->figure));
	figures->figure[figures->count++] = (struct figure){ base, drawing->title, drawing->text, pid };
	return 0;
}

static void note_range(u64 value, u64 *least, u64 *most)
{
	*least = !*least || value < *least ? value : *least;
	*most = value > *most ? value : *most;
}

static char *range_text(u64 least, u64 most, const char *what)
{
	return least == most ? xasprintf("%llu %s%s", least, what, least == 1 ? "" : "s") :
			       xasprintf("%llu to %llu %ss", least, most, what);
}

char *figure_samples(const struct cells *cells, u64 phase)
{
	u64 repeats[2] = { 0 }, iterations[2] = { 0 };
	char *text[2], *all;
	size_t i, j;

	for (i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cell[i];

		for (j = 0; cell->key->c.phase == phase && j < cell->outcomes; j++) {
			if (isnan(outcome_value(&cell->outcome[j])))
				continue;
			note_range(cell->outcome[j].n, &repeats[0], &repeats[1]);
			note_range(cell->outcome[j].row[0]->c.iterations, &iterations[0], &iterations[1]);
		}
	}
	text[0] = range_text(repeats[0], repeats[1], "repeat");
	text[1] = range_text(iterations[0], iterations[1], "iteration");
	all = xasprintf("medians over %s of %s", text[0], text[1]);
	free(text[0]);
	free(text[1]);
	return all;
}

int figures_draw(const struct figures_from *from, struct figures *figures, struct problem *p)
{
	struct problem ignored;
	int result = 0;
	size_t i;
	u64 phase;

	memset(figures, 0, sizeof(*figures));
	if (!from->rows->count)
		return 0;
	for (phase = 0; phase <= TS_RETOUCH && !result; phase++)
		result = figure_fracture(from, phase, figures, p);
	result = result ?: figure_events(from, figures, p) ?: figure_heat(from, figures, p) ?:
			   figure_published(from, figures, p) ?: figure_reach(from, figures, p) ?:
			   figure_ceiling(from, figures, p);
	for (i = 0; i < figures->count; i++) /* the first problem is told */
		result = wait_for(&figures->figure[i], from->kinds, result ? &ignored : p) ?: result;
	return result;
}

void figures_free(struct figures *figures)
{
	while (figures->count) {
		struct figure *figure = &figures->figure[--figures->count];

		free(figure->base);
		free(figure->title);
		free(figure->text);
	}
	free(figures->figure);
	memset(figures, 0, sizeof(*figures));
}
