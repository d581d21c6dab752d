# Predicted against measured peak, the symbol of each estimator; below it the signed error of the same points.
# Call: gnuplot -d -c accuracy.gp accuracy.tsv IMAGE svg|png WIDTH HEIGHT [TOLERANCE [BASIS [CAPTION [LINES]]]]
# Block 0, points: case, estimator, measured_bytes, predicted_bytes, colour, symbol; the last are drawn on top. Block 1, the
# legend: estimator, cases, colour, symbol. BASIS: what the figures on the axis are called.
if (ARGC < 5) { print "usage: gnuplot -d -c accuracy.gp DATA IMAGE svg|png WIDTH HEIGHT [TOLERANCE [BASIS [CAPTION [LINES]]]]"; exit status 2 }

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

tolerance = ARGC > 5 && strlen(ARG6) > 0 ? ARG6 + 0 : NaN
banded = tolerance > 0

stats ARG1 index 0 using 3:4 name "ALL" nooutput
stats ARG1 index 1 using (1) name "LEGEND" nooutput
estimators = int(LEGEND_records)
array name[estimators]
array colour[estimators]
array symbol[estimators]
stats ARG1 index 1 using (name[int($0) + 1] = strcol(1), colour[int($0) + 1] = $3, symbol[int($0) + 1] = $4, 1) nooutput
legend_rows = int((estimators + 1 + (banded ? 1 : 0) + 2) / 3)
smaller(a, b) = a < b ? a : b
larger(a, b) = a > b ? a : b
low = 2 ** floor(log(smaller(ALL_min_x, ALL_min_y) / 1.1) / log(2))
high = 2 ** ceil(log(larger(ALL_max_x, ALL_max_y) * 1.1) / log(2))
octaves = log(high / low) / log(2)
step = octaves > 16 ? 8 : octaves > 8 ? 4 : 2

# Errors beyond 100 % stand on a line of their own, by their estimator's symbol: none of them lies at +100 %. An error cannot
# be less than -100 %.
error(measured, predicted) = 100.0 * (predicted - measured) / measured
stats ARG1 index 0 using (error($3, $4) > 100 ? 1 : 0) name "BEYOND" nooutput
beyond = 135.0

# Not gnuplot's %b, which writes kiB.
size(bytes) = bytes >= 2.0 ** 40 ? sprintf("%g TiB", bytes / 2.0 ** 40) : \
              bytes >= 2.0 ** 30 ? sprintf("%g GiB", bytes / 2.0 ** 30) : \
              bytes >= 2.0 ** 20 ? sprintf("%g MiB", bytes / 2.0 ** 20) : \
              bytes >= 2.0 ** 10 ? sprintf("%g KiB", bytes / 2.0 ** 10) : sprintf("%g B", bytes)

set lmargin at screen 0.14
set rmargin at screen 0.965
set border 3 linecolor rgb "#444444"
set tics nomirror out scale tic textcolor rgb "#222222" font ",11"
set grid linecolor rgb "#e4e4e4" linewidth 1 linetype 1, linecolor rgb "#e4e4e4" linewidth 1
set logscale x 2
set xrange [low:high]
set samples 200

# From below: caption, legend, errors, and the larger panel.
legend_top = foot + 8.0 + 19.0 * legend_rows
errors_bottom = legend_top + 60.0
errors_top = errors_bottom + 0.30 * (ARG5 - errors_bottom - 40.0)

set multiplot
set label 1 caption at screen 14.0 / ARG4, screen (foot - 6.0) / ARG5 left font ",10" textcolor rgb "#555555"
set tmargin at screen 1 - 40.0 / ARG5
set bmargin at screen (errors_top + 26.0) / ARG5
set title sprintf("Peak of allocated bytes, predicted against %s", basis) offset 0, -0.3
set logscale y 2
set yrange [low:high]
set xtics ()
set ytics ()
tick = low
while (tick <= high) {
    set xtics add ("" tick)
    set ytics add (size(tick) tick)
    tick = tick * step
}
set ylabel "predicted" offset 1, 0
set key at screen 0.14, screen legend_top / ARG5 left top horizontal maxrows legend_rows maxcols 3 Left reverse samplen 1.2 \
    spacing 1.1 width 2 font ",11"
plot '+' using (banded ? $1 : NaN):($1 * (1 - tolerance)):($1 * (1 + tolerance)) with filledcurves \
         linecolor rgb "#c9d7e4" title (banded ? sprintf("within %g %% (replay)", 100 * tolerance) : ""), \
     x with lines linecolor rgb "#444444" linewidth 1 dashtype 2 title sprintf("predicted = %s", basis), \
     for [at = 1:estimators] NaN with points pointtype int(symbol[at]) linecolor rgb int(colour[at]) pointsize 0.9 * mark \
         title name[at], \
     ARG1 index 0 using 3:4:6:5 with points pointtype variable linecolor rgb variable pointsize 0.9 * mark notitle
unset label 1

clip(error) = error > 100 ? beyond : error
set tmargin at screen errors_top / ARG5
set bmargin at screen errors_bottom / ARG5
unset title
unset key
unset logscale y
set yrange [-105:(BEYOND_sum > 0 ? beyond + 15.0 : 105)]
set ytics -100, 50, 100
set format y "%+.0f %%"
if (BEYOND_sum > 0) {
    set ytics add ("> +100 %%" beyond)
    set arrow 1 from graph 0, first 117.0 to graph 1, first 117.0 nohead linecolor rgb "#888888" linewidth 1 dashtype 3
}
tick = low
while (tick <= high) {
    set xtics add (size(tick) tick)
    tick = tick * step
}
set xlabel basis offset 0, 0.3
set ylabel "signed error" offset 1, 0
plot '+' using (banded ? $1 : NaN):(-100 * tolerance):(100 * tolerance) with filledcurves \
         linecolor rgb "#c9d7e4" notitle, \
     0 with lines linecolor rgb "#444444" linewidth 1 dashtype 2 notitle, \
     ARG1 index 0 using 3:(clip(error($3, $4))):6:5 with points pointtype variable linecolor rgb variable \
         pointsize 0.9 * mark notitle
unset multiplot
