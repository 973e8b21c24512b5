# SPDX-License-Identifier: GPL-2.0
# What a flush of n pages costs, one by one (rising) and fully (level): a panel for each number of
# lines that are touched again afterwards, guest pages of 4K dark and of 2M light. Where the two
# lines of a colour cross is the break-even n*, with its interval as a band and in figures; the thin
# vertical line is 33, Linux' standard ceiling. Points are medians of the repeats, bars reach from
# the least to the most. Set by tlbscope: base (picture
# without ending), heading, note (samples), stamp, kinds (see fracture.gp), unit, data:
# block 0 has a line for each panel (title, n* low high of 4k, of 2m, whether the guest page does not
# matter), then come six blocks a panel: points one by one, points of full flushes, lines; 4k, then 2m.

set encoding utf8
stats data index 0 using 8 nooutput
panels = STATS_records
columns = panels < 3 ? panels : 3
rows = ceil(panels / (1.0 * columns))

set border 3 lc rgb '#606060'
set tics nomirror out
set grid ytics lc rgb '#e4e4e4' lt 1 lw 1
set logscale x 2
set logscale y 10
set xrange [0.85:600]
set xtics ('1' 1, '4' 4, '16' 16, '64' 64, '256' 256)
set format y '%.0s%c'
set errorbars 0
unset title
unset key

colour(g) = g == 0 ? '#1f4068' : '#e8812d'
band(g) = g == 0 ? '#c9d6e6' : '#fbe3cf'
block(p, g, k) = 1 + (p * 2 + g) * 3 + k
number(x) = x < 9.95 ? sprintf('%.1f', x) : sprintf('%.0f', x)

# The figures of panel p and guest page g out of block 0, as an array.
array n[panels * 6]
array title[panels]
array any[panels]
do for [p = 1:panels] {
	do for [c = 1:6] {
		stats data index 0 every ::(p - 1)::(p - 1) using \
			(figure = stringcolumn(c + 1), column(8)) nooutput
		n[(p - 1) * 6 + c] = figure eq 'NaN' ? NaN : real(figure)
	}
	stats data index 0 every ::(p - 1)::(p - 1) using (text = stringcolumn(1), column(8)) nooutput
	title[p] = text
	any[p] = STATS_min
}
star(p, g, k) = n[p * 6 + g * 3 + k + 1]
has(x) = x == x
at_least_0(x) = x < 0 ? 0 : x
label(p, g) = !has(star(p, g, 0)) ? '' : sprintf('n* %s%s', \
	star(p, g, 0) < 1 ? '<1' : number(star(p, g, 0)), !has(star(p, g, 1)) ? '' : \
	sprintf(' (%s to %s)', number(at_least_0(star(p, g, 1))), number(star(p, g, 2)))) . \
	(g == 1 ? ', 2M pages' : any[p + 1] > 0 ? '' : ', 4K pages')

left = 0.07
right = 1.025
pixels = 150.0 + 270 * rows
top = 1 - 150.0 / pixels
bottom = 0
wide = (right - left) / columns
high = (top - bottom) / rows

do for [kind in kinds] {
	if (kind eq 'svg') {
		set terminal svg size 1060, pixels font 'DejaVu Sans,11' background rgb 'white'
	} else {
		set terminal pngcairo size 2120, (2 * pixels) fontscale 1.5 pointscale 2 linewidth 2 \
			font 'DejaVu Sans,11' background rgb 'white'
	}
	set output base . '.' . kind
	set multiplot
	# Heading and legend, in a plot of nothing.
	unset border
	unset tics
	unset xlabel
	unset ylabel
	unset label
	unset arrow
	unset object
	set lmargin at screen left
	set rmargin at screen 0.99
	set tmargin at screen 0.99
	set bmargin at screen 0.9
	set label 5 heading at screen left, screen 1 - 28.0 / pixels left font ',12' noenhanced
	set label 6 note at screen left, screen 1 - 48.0 / pixels left font ',10' tc rgb '#505050' noenhanced
	if (strlen(stamp)) {
		# gnuplot's SVG knows no boxes behind texts: a rectangle as wide as DejaVu Sans makes the text
		half = (strlen(stamp) * 6.9 + 22) / 2 / 1060
		set object 9 rectangle center screen (0.985 - half),screen (1 - 24.0 / pixels) \
			size screen (2 * half),screen (24 / pixels) front fc rgb '#fff1c2' fs solid 1.0 \
			border lc rgb '#8a1c1c'
		set label 9 stamp at screen (0.985 - half),screen (1 - 24.0 / pixels) center font ',11' \
			tc rgb '#6b1010' noenhanced front
	}
	set key at screen left, screen 1 - 62.0 / pixels left top Left reverse horizontal \
		maxcols 5 samplen 3 width 1 font ',10'
	set yrange [1:10]
	plot NaN with linespoints lc rgb colour(0) lw 1.6 dt 1 pt 7 ps 0.5 title '4K pages, one by one', \
	     NaN with linespoints lc rgb colour(0) lw 1.6 dt (8,4) pt 6 ps 0.6 title '4K, full flush', \
	     NaN with linespoints lc rgb colour(1) lw 1.6 dt 1 pt 8 ps 0.5 title '2M pages, one by one', \
	     NaN with linespoints lc rgb colour(1) lw 1.6 dt (8,4) pt 10 ps 0.6 title '2M, full flush', \
	     NaN with lines lc rgb '#808080' dt (3,3) title "33, Linux' standard"
	unset key
	unset label
	unset object
	set border 3 lc rgb '#606060'
	set xtics nomirror out ('1' 1, '4' 4, '16' 16, '64' 64, '256' 256)
	set ytics nomirror out
	set yrange [*:*]
	do for [p = 0:panels - 1] {
		row = p / columns
		column = p % columns
		set lmargin at screen left + column * wide
		set rmargin at screen left + (column + 0.80) * wide
		set tmargin at screen top - (row + 0.04) * high
		set bmargin at screen top - (row + 0.72) * high
		unset label
		unset object
		unset arrow
		set label 1 title[p + 1] . (any[p + 1] > 0 ? ', any page' : '') at graph 0, graph 1.28 left font ',11'
		# One under the other: side by side two intervals are wider than a panel.
		set label 2 label(p, 0) at graph 0, graph 1.16 left font ',9' tc rgb colour(0)
		set label 3 label(p, 1) at graph 0, graph 1.07 left font ',9' tc rgb '#b05a10'
		set arrow 1 from 33, graph 0 to 33, graph 1 nohead lc rgb '#808080' lw 1 dt (3,3)
		set label 4 '33' at 33, graph 0.05 left offset 0.3,0 font ',9' tc rgb '#606060'
		do for [g = 0:1] {
			low = star(p, g, 1)
			up = star(p, g, 2)
			if (has(low) && has(up) && up > 0.85 && low < 600) {
				low = low < 0.85 ? 0.85 : low
				up = up > 600 ? 600 : up
				set object (g + 1) rectangle from low, graph 0 to up, graph 1 behind \
					fc rgb band(g) fs transparent solid 0.7 noborder
			}
		}
		if (column == 0) { set ylabel unit offset 0.3, 0 } else { unset ylabel }
		if (row == rows - 1 || p + columns >= panels) { set xlabel 'n, pages' offset 0, 0.5 } else { unset xlabel }
		plot data index block(p, 0, 2) using 1:2 with lines lc rgb colour(0) lw 1.6 dt 1 notitle, \
		     '' index block(p, 0, 2) using 1:3 with lines lc rgb colour(0) lw 1.6 dt (8,4), \
		     '' index block(p, 1, 2) using 1:2 with lines lc rgb colour(1) lw 1.6 dt 1, \
		     '' index block(p, 1, 2) using 1:3 with lines lc rgb colour(1) lw 1.6 dt (8,4), \
		     for [g = 0:1] '' index block(p, g, 0) using 1:2:3:4 with yerrorbars lc rgb colour(g) \
			pt (g == 0 ? 7 : 8) ps 0.5 lw 1 notitle, \
		     for [g = 0:1] '' index block(p, g, 1) using 1:2:3:4 with yerrorbars lc rgb colour(g) \
			pt (g == 0 ? 6 : 10) ps 0.6 lw 1 notitle
	}
	unset multiplot
	unset output
}
