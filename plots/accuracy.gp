# Predicted against measured (or replayed) peak, one symbol per estimator; below it the signed error of the same points.
# Call: gnuplot -d -c accuracy.gp accuracy.tsv IMAGE svg|png WIDTH HEIGHT [TOLERANCE [BASIS]]
# Columns: case, quantity, measured_bytes, then the predicted bytes of one estimator each (NaN: not this one); the
# first estimator is drawn on top.
if (ARGC < 5) { print "usage: gnuplot -d -c accuracy.gp DATA IMAGE svg|png WIDTH HEIGHT [TOLERANCE [BASIS]]"; exit status 2 }

set encoding utf8
set datafile separator "\t"
if (ARG3 eq "svg") {
    set terminal svg size ARG4 + 0, ARG5 + 0 noenhanced font "DejaVu Sans,13" background rgb "white"
} else {
    set terminal pngcairo size 2 * ARG4, 2 * ARG5 noenhanced font "DejaVu Sans,13" fontscale 2 background rgb "white" \
        linewidth 2 pointscale 2
}
set output ARG2

# Okabe and Ito's colours, which differ for colour-blind readers too; and a symbol each, for paper.
set linetype 1 linecolor rgb "#0072b2" pointtype 7 dashtype 1
set linetype 2 linecolor rgb "#d55e00" pointtype 9 dashtype 1
set linetype 3 linecolor rgb "#009e73" pointtype 5 dashtype 1
set linetype 4 linecolor rgb "#cc79a7" pointtype 13 dashtype 1
set linetype 5 linecolor rgb "#e69f00" pointtype 11 dashtype 1
set linetype 6 linecolor rgb "#56b4e9" pointtype 6 dashtype 1
set linetype 7 linecolor rgb "#444444" pointtype 8 dashtype 1
set linetype 8 linecolor rgb "#882255" pointtype 4 dashtype 1

# What the figures are: measured, or replayed where a device held no memory.
basis = ARGC > 6 && strlen(ARG7) > 0 ? ARG7 : "measured"
tolerance = ARGC > 5 && strlen(ARG6) > 0 ? ARG6 + 0 : NaN
banded = tolerance > 0

stats ARG1 skip 1 using 3 name "MEASURED" nooutput
# More than eight symbols cannot be told apart: the first eight estimators; the tables have all.
columns = MEASURED_columns > 11 ? 11 : int(MEASURED_columns)
low = MEASURED_min
high = MEASURED_max
array points[columns]
do for [column = 4:columns] {
    points[column] = 0
    stats ARG1 skip 1 using (points[column] = points[column] + (valid(column) ? 1 : 0), 1) nooutput
    if (points[column] > 0) {
        stats ARG1 skip 1 using column name "PREDICTED" nooutput
        low = PREDICTED_min < low ? PREDICTED_min : low
        high = PREDICTED_max > high ? PREDICTED_max : high
    }
}
low = 2 ** floor(log(low / 1.1) / log(2))
high = 2 ** ceil(log(high * 1.1) / log(2))
octaves = log(high / low) / log(2)
step = octaves > 16 ? 8 : octaves > 8 ? 4 : 2

# Not gnuplot's %b, which writes kiB.
size(bytes) = bytes >= 2.0 ** 40 ? sprintf("%g TiB", bytes / 2.0 ** 40) : \
              bytes >= 2.0 ** 30 ? sprintf("%g GiB", bytes / 2.0 ** 30) : \
              bytes >= 2.0 ** 20 ? sprintf("%g MiB", bytes / 2.0 ** 20) : \
              bytes >= 2.0 ** 10 ? sprintf("%g KiB", bytes / 2.0 ** 10) : sprintf("%g B", bytes)

set lmargin at screen 0.16
set rmargin at screen 0.965
set border 3 linecolor rgb "#444444"
set tics nomirror out textcolor rgb "#222222"
set grid linecolor rgb "#e4e4e4" linewidth 1 linetype 1, linecolor rgb "#e4e4e4" linewidth 1
set logscale x 2
set xrange [low:high]
set samples 200

set multiplot

set tmargin at screen 0.945
set bmargin at screen 0.395
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
set key top left Left reverse opaque box linecolor rgb "#cccccc" samplen 1.2 spacing 1.15 width 1
plot '+' using (banded ? $1 : NaN):($1 * (1 - tolerance)):($1 * (1 + tolerance)) with filledcurves \
         linecolor rgb "#c9d7e4" title (banded ? sprintf("within %g %% (replay)", 100 * tolerance) : ""), \
     x with lines linecolor rgb "#444444" linewidth 1 dashtype 2 title "predicted = " . basis, \
     for [column = 4:columns] ARG1 using 3:column with points linetype column - 3 pointsize 0.9 \
         title (points[column] > 0 ? columnheader(column) : ""), \
     ARG1 skip 1 using 3:4 with points linetype 1 pointsize 0.9 notitle

# Errors beyond 100 % are drawn at the edge.
clip(error) = error > 100 ? 100 : error < -100 ? -100 : error
set tmargin at screen 0.365
set bmargin at screen 0.085
unset title
unset key
unset logscale y
set yrange [-105:105]
set ytics -100, 50, 100
set format y "%+.0f %%"
tick = low
while (tick <= high) {
    set xtics add (size(tick) tick)
    tick = tick * step
}
set xlabel basis
set ylabel "signed error" offset 1, 0
plot '+' using (banded ? $1 : NaN):(-100 * tolerance):(100 * tolerance) with filledcurves \
         linecolor rgb "#c9d7e4" notitle, \
     0 with lines linecolor rgb "#444444" linewidth 1 dashtype 2 notitle, \
     for [column = 4:columns] ARG1 skip 1 using 3:(clip(100.0 * (column(column) - $3) / $3)) with points \
         linetype column - 3 pointsize 0.9 notitle, \
     ARG1 skip 1 using 3:(clip(100.0 * ($4 - $3) / $3)) with points linetype 1 pointsize 0.9 notitle
unset multiplot
