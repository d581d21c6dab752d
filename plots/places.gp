# Peaks of placed cases by place and stage, one panel per case: what was found as boxes, what was predicted as marks, budgets as lines.
# Call: gnuplot -d -c places.gp places.tsv IMAGE svg|png WIDTH HEIGHT "" [BASIS [CAPTION [LINES]]]
# Blocks, one per case. Columns: case, place, stage, x, found, predicted and budget bytes, a word where nothing was found.
if (ARGC < 5) { print "usage: gnuplot -d -c places.gp DATA IMAGE svg|png WIDTH HEIGHT \"\" [BASIS [CAPTION [LINES]]]"; exit status 2 }

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
basis = ARGC > 6 && strlen(ARG7) > 0 ? ARG7 : "measured" # or replayed, where a device held no memory

stats ARG1 using (1) name "ALL" nooutput
panels = int(ALL_blocks)
across = panels < 2 ? panels : 2
down = int((panels + across - 1) / across)

set border 3 linecolor rgb "#444444"
set tics nomirror scale tic textcolor rgb "#222222"
set xtics scale 0 font ",10"
set ytics out font ",10"
set grid ytics linecolor rgb "#e4e4e4" linewidth 1 linetype 1
set style fill solid 1.0 noborder
set key off

# A title of two lines at most, broken at a blank where there is one.
fit = int(ARG4 / across / 8.4)
blank(text, at) = at < 2 ? fit : text[at:at] eq " " ? at : blank(text, at - 1)
cut(text) = strlen(text) <= fit ? text : text[1:fit - 1] . "…"
lines(text) = strlen(text) <= fit ? text : (at = blank(text, fit), text[1:at] . "\n" . cut(text[at + 1:*]))

larger(a, b) = b > a ? b : a

top = 1 - 44.0 / ARG5
bottom = (40.0 + foot) / ARG5
cell_width = 0.99 / across
cell_height = (top - bottom) / down
set multiplot title sprintf("Peaks by place and stage, %s", basis) offset 0, -0.4
do for [panel = 0:panels - 1] {
    set xrange [*:*]
    set yrange [*:*]
    highest = 1.0
    undefine FOUND_*
    stats ARG1 index panel using (name = strcol(1), valid(5) ? $5 : 0) name "FOUND" nooutput
    stats ARG1 index panel using (valid(6) ? $6 : 0) name "SAID" nooutput
    stats ARG1 index panel using 4 name "PLACE" nooutput
    highest = larger(highest, larger(FOUND_max, SAID_max))
    scale = highest >= 1024.0 ** 3 ? 1024.0 ** 3 : 1024.0 ** 2
    bars = PLACE_max + 1
    column_at = panel % across
    row_at = int(panel / across)
    set lmargin at screen 0.005 + cell_width * column_at + 72.0 / ARG4
    set rmargin at screen 0.005 + cell_width * (column_at + 1) - 12.0 / ARG4
    set tmargin at screen top - cell_height * row_at - 46.0 / ARG5
    set bmargin at screen top - cell_height * (row_at + 1) + 50.0 / ARG5
    set title lines(name) font ",10" offset 0, -0.4
    set ylabel (scale > 1024.0 ** 2 ? "GiB" : "MiB") font ",11" offset 1.4, 0
    budget(bytes) = bytes <= 2.0 * highest ? bytes / scale : NaN
    undefine BUDGET_*
    stats ARG1 index panel using (valid(7) && $7 <= 2.0 * highest ? $7 : 0) name "BUDGET" nooutput
    set yrange [0:larger(highest, BUDGET_max) / scale * 1.12]
    set xrange [-0.7:(bars > 4 ? bars : 4) - 0.3]
    plot ARG1 index panel using 4:($5 / scale):(0.72):xtic(strcol(3) . "\n" . strcol(2)) with boxes linecolor rgb "#56b4e9", \
         ARG1 index panel using 4:(budget($7)):(0.45) with xerrorbars pointtype 0 linewidth 2 linecolor rgb "#882255", \
         ARG1 index panel using 4:($6 / scale) with points pointtype 1 pointsize 1.2 * mark linewidth 2 linecolor rgb "#d55e00", \
         ARG1 index panel using 4:(larger($5, $6) / scale):\
             (valid(5) && valid(6) && $5 > 0 && $5 != $6 ? sprintf("%+.2f %%", 100.0 * ($6 - $5) / $5) : "") \
             with labels offset 0, -1.0 font ",10" textcolor rgb "#222222", \
         ARG1 index panel using 4:(highest / scale * 0.05):8 with labels font ",11" textcolor rgb "#d55e00"
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
set key center center horizontal Left reverse samplen 1.5 width 2
plot NaN with boxes linecolor rgb "#56b4e9" title "found", \
     NaN with points pointtype 1 pointsize 1.2 * mark linewidth 2 linecolor rgb "#d55e00" title "predicted", \
     NaN with lines linewidth 2 linecolor rgb "#882255" title "budget"
unset multiplot
