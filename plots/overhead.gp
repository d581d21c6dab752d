# Overhead of inference or generation of one model: allocated peak over weights along the length, a panel for each form of
# the case, a line for each batch; images: along the batch.
# Call: gnuplot -d -c overhead.gp overhead.tsv IMAGE svg|png WIDTH HEIGHT "" [BASIS [CAPTION [LINES]]]
# Block 0, points: panel, length, peak_bytes, weight_bytes, colour, symbol, case; a blank line between lines. Block 1: panel,
# form. Block 2: batch, colour, symbol. Block 3: mode, what the length is, model.
if (ARGC < 5) { print "usage: gnuplot -d -c overhead.gp DATA IMAGE svg|png WIDTH HEIGHT \"\" [BASIS [CAPTION [LINES]]]"; exit status 2 }

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

ratio(peak, weights) = 1.0 * peak / weights
larger(a, b) = b > a ? b : a
stats ARG1 index 0 using 2:(ratio($3, $4)) name "ALL" nooutput
stats ARG1 index 1 using 1 name "PANELS" nooutput
panels = int(PANELS_max) + 1
array form[panels]
stats ARG1 index 1 using (form[int($1) + 1] = strcol(2), 1) nooutput
stats ARG1 index 2 using (1) name "BATCHES" nooutput
batches = int(BATCHES_records)
array batch[batches]
array colour[batches]
array symbol[batches]
stats ARG1 index 2 using (batch[int($0) + 1] = strcol(1), colour[int($0) + 1] = $2, symbol[int($0) + 1] = $3, 1) nooutput
stats ARG1 index 3 using (mode = strcol(1), length_name = strcol(2), model = strcol(3), 1) nooutput

# Between two points the lines grow evenly with the length, as the rule of report --rule has it: curves on this axis.
stats ARG1 index 0 using (1) name "POINTS" nooutput
points = int(POINTS_records)
array at_panel[points]
array at_line[points]
array at_length[points]
array at_ratio[points]
array at_colour[points]
row = 0
stats ARG1 index 0 using (row = row + 1, at_panel[row] = $1, at_line[row] = column(-1), at_length[row] = $2, \
    at_ratio[row] = ratio($3, $4), at_colour[row] = $5, 1) nooutput
pieces = 12
set print $LINES
do for [row = 1:points] {
    if (row > 1) {
        if (at_line[row] != at_line[row - 1]) {
            print ""
        }
        if (at_line[row] == at_line[row - 1] && at_length[row] > at_length[row - 1]) {
            do for [piece = 1:pieces - 1] {
                length = at_length[row - 1] * (1.0 * at_length[row] / at_length[row - 1]) ** (1.0 * piece / pieces)
                share = (length - at_length[row - 1]) / (at_length[row] - at_length[row - 1])
                print sprintf("%d\t%.9g\t%.9g\t%d", at_panel[row], length, \
                    at_ratio[row - 1] + share * (at_ratio[row] - at_ratio[row - 1]), at_colour[row])
            }
        }
    }
    print sprintf("%d\t%.9g\t%.9g\t%d", at_panel[row], at_length[row], at_ratio[row], at_colour[row])
}
set print

across = panels < 3 ? panels : 3
down = int((panels + across - 1) / across)
legend = 150.0
left = 70.0
step_x = (ARG4 - left - legend) / across
top = ARG5 - 58.0
step_y = (top - 70.0 - foot) / down

low = ALL_min_x / 1.4
high = ALL_max_x * 1.4
step = high / low > 2 ** 16 ? 16 : high / low > 2 ** 7 ? 4 : 2
set border 3 linecolor rgb "#444444"
set tics nomirror out scale tic textcolor rgb "#222222" font ",11"
set grid linecolor rgb "#e4e4e4" linewidth 1 linetype 1, linecolor rgb "#e4e4e4" linewidth 1
set logscale x 2
set xrange [low:high]
set xtics 1, step
set format x "%g"
set yrange [1:larger(ALL_max_y * 1.06, 1.3)]
if (ALL_max_y > 8) { set logscale y 2; set yrange [1:ALL_max_y * 1.3] }
set format y "%g"
fit = int(step_x / 7.2)
cut(text) = strlen(text) <= fit ? text : text[1:fit - 1] . "…"

set multiplot
set label 1 sprintf("Overhead of %s: %s", mode, model) at screen 0.5, screen 1 - 16.0 / ARG5 center font ",14"
set label 2 caption at screen 14.0 / ARG4, screen (foot - 6.0) / ARG5 left font ",10" textcolor rgb "#555555"
set label 3 "allocated peak / weights" at screen 16.0 / ARG4, screen (top + 70.0 + foot) / 2 / ARG5 center rotate by 90
do for [panel = 0:panels - 1] {
    column_at = panel % across
    row_at = int(panel / across)
    set lmargin at screen (left + step_x * column_at) / ARG4
    set rmargin at screen (left + step_x * (column_at + 1) - 44.0) / ARG4
    set tmargin at screen (top - step_y * row_at - 6.0) / ARG5
    set bmargin at screen (top - step_y * (row_at + 1) + (row_at + 1 < down ? 40.0 : 0.0)) / ARG5
    set title cut(form[panel + 1]) font ",11" offset 0, -0.5
    set xlabel (panel + across >= panels ? length_name : "") font ",12" offset 0, 0.3
    if (panel == 0) {
        # The legend of all panels stands outside them.
        set key at screen (ARG4 - legend + 4.0) / ARG4, screen top / ARG5 left top vertical Left reverse samplen 1.8 \
            spacing 1.15 font ",11"
    } else { unset key }
    plot 1.2 with lines linecolor rgb "#444444" linewidth 1.5 dashtype 2 title "+20 % rule", \
         for [at = 1:batches] NaN with linespoints linecolor rgb int(colour[at]) pointtype int(symbol[at]) linewidth 1.5 \
             pointsize 0.8 * mark title batch[at], \
         $LINES using ($1 == panel ? $2 : NaN):3:4 with lines linecolor rgb variable linewidth 1.5 notitle, \
         ARG1 index 0 using ($1 == panel ? $2 : NaN):(ratio($3, $4)):6:5 with points pointtype variable \
             linecolor rgb variable pointsize 0.8 * mark notitle
    unset label 1; unset label 2; unset label 3
}
unset multiplot
