# Figures of each night, a panel for each case and level: points, what the steps in them say, and where the jumps are.
# Call: gnuplot -d -c trend.gp trend.tsv IMAGE svg|png WIDTH HEIGHT "" ["" [CAPTION [LINES]]]
# Blocks, one per panel. Columns: case, level, seconds since 1970, bytes, fitted bytes, seconds of a jump (or NaN).
if (ARGC < 5) { print "usage: gnuplot -d -c trend.gp DATA IMAGE svg|png WIDTH HEIGHT \"\" [\"\" [CAPTION [LINES]]]"; exit status 2 }

set encoding utf8
set datafile separator "\t"
if (ARG3 eq "svg") {
    set terminal svg size ARG4 + 0, ARG5 + 0 noenhanced font "DejaVu Sans,13" dashlength 2 background rgb "white"
    mark = 0.8 # this terminal draws symbols and tics larger, and has no option for it
    tic = 0.5
} else {
    set terminal pngcairo size 2 * ARG4, 2 * ARG5 noenhanced font "DejaVu Sans,13" fontscale 1.5 background rgb "white" \
        linewidth 2 pointscale 2
    mark = 1.0
    tic = 1.0
}
set output ARG2
caption = ARGC > 7 ? ARG8 : ""
foot = ARGC > 8 ? 15.0 * ARG9 : 0.0

stats ARG1 using (1) name "ALL" nooutput
panels = int(ALL_blocks)
across = panels < 2 ? 1 : 2
down = int((panels + across - 1) / across)

set border 3 linecolor rgb "#444444"
set tics nomirror out scale tic textcolor rgb "#222222" font ",10"
set grid ytics linecolor rgb "#e4e4e4" linewidth 1 linetype 1
set key off

# A title of two lines at most, broken at a blank where there is one.
fit = int(ARG4 / across / 8.0)
blank(text, at) = at < 2 ? fit : text[at:at] eq " " ? at : blank(text, at - 1)
cut(text) = strlen(text) <= fit ? text : text[1:fit - 1] . "…"
lines(text) = strlen(text) <= fit ? text : (at = blank(text, fit), text[1:at] . "\n" . cut(text[at + 1:*]))
larger(a, b) = b > a ? b : a

top = 1 - 44.0 / ARG5
bottom = (40.0 + foot) / ARG5
cell_width = 0.99 / across
cell_height = (top - bottom) / down
day = 86400.0
set multiplot title "Figures of each night" offset 0, -0.4
do for [panel = 0:panels - 1] {
    set xrange [*:*]
    set yrange [*:*]
    unset format
    stats ARG1 index panel using (name = strcol(1) . ": " . strcol(2), $4) name "BYTES" nooutput
    stats ARG1 index panel using 3 name "TIME" nooutput
    scale = BYTES_max >= 1024.0 ** 3 ? 1024.0 ** 3 : BYTES_max >= 1024.0 ** 2 ? 1024.0 ** 2 : 1024.0
    # not less than a hundredth of the figure, so that noise does not look like mountains
    room = larger(1.0, larger(0.12 * (BYTES_max - BYTES_min), 0.005 * BYTES_max))
    column_at = panel % across
    row_at = int(panel / across)
    set lmargin at screen 0.005 + cell_width * column_at + 84.0 / ARG4
    set rmargin at screen 0.005 + cell_width * (column_at + 1) - 24.0 / ARG4
    set tmargin at screen top - cell_height * row_at - 42.0 / ARG5
    set bmargin at screen top - cell_height * (row_at + 1) + 30.0 / ARG5
    set title lines(name) font ",10" offset 0, -0.4
    set ylabel (scale > 1024.0 ** 2 ? "GiB" : scale > 1024.0 ? "MiB" : "KiB") font ",11" offset 0.8, 0
    set yrange [(BYTES_min - room) / scale:(BYTES_max + room) / scale]
    set format y "%.4g"
    span = TIME_max - TIME_min
    first = span < day ? TIME_min : day * floor(TIME_min / day)
    step = span < day ? larger(60, ceil(span / 3.0)) : day * larger(1, ceil((TIME_max - first) / day / 6.0))
    set xrange [TIME_min - 0.02 * span - 1:TIME_max + 0.02 * span + 1]
    # runs of one day have hours, and those of more than a year the year; gnuplot itself would round to odd places
    form = span < day ? "%m-%d %H:%M" : span > 300 * day ? "%Y-%m" : "%m-%d"
    set xtics (strftime(form, first) first)
    do for [place = 1:int((TIME_max - first) / step)] {
        set xtics add (strftime(form, first + place * step) first + place * step)
    }
    plot ARG1 index panel using 6:((BYTES_min - room) / scale):(0):(2 * room / scale + (BYTES_max - BYTES_min) / scale) \
             with vectors nohead linecolor rgb "#d55e00" dashtype 2 linewidth 1.5, \
         ARG1 index panel using 3:($5 / scale) with lines linecolor rgb "#e69f00" linewidth 2.5, \
         ARG1 index panel using 3:($4 / scale) with points pointtype 7 pointsize 0.5 * mark linecolor rgb "#0072b2"
}
# One legend for all panels.
set lmargin at screen 0.05
set rmargin at screen 0.95
set bmargin at screen (foot + 2.0) / ARG5
set label 1 caption at screen 14.0 / ARG4, screen (foot - 6.0) / ARG5 left font ",10" textcolor rgb "#555555"
set tmargin at screen bottom
unset title; unset xlabel; unset ylabel; unset tics; unset border; unset grid
set xrange [0:1]
set yrange [0:1]
set key center center horizontal Left reverse samplen 2.5 width 2
plot NaN with points pointtype 7 pointsize 0.8 * mark linecolor rgb "#0072b2" title "a night", \
     NaN with lines linecolor rgb "#e69f00" linewidth 2.5 title "plateau or drift", \
     NaN with lines linecolor rgb "#d55e00" dashtype 2 linewidth 1.5 title "jump"
unset multiplot
