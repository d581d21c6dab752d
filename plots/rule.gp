# Rule of thumb: where so many times the weights is enough for inference, a line for each model, over batch x length.
# Call: gnuplot -d -c rule.gp rule.tsv IMAGE svg|png WIDTH HEIGHT FACTOR ["" [CAPTION [LINES]]]
# Block 0: place (cases with about as many tokens above each other), tokens, peak / weights, 0 too little, 1 close, 2 wasteful. Block 1: place, series. Block 2: place, tokens
# where the series crosses the factor.
if (ARGC < 6) { print "usage: gnuplot -d -c rule.gp DATA IMAGE svg|png WIDTH HEIGHT FACTOR [\"\" [CAPTION [LINES]]]"; exit status 2 }

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

# Okabe and Ito's colours, which differ for colour-blind readers too; and a symbol each, for paper.
stats ARG1 index 1 using 1 name "LINES" nooutput
stats ARG1 index 0 using 2 name "TOKENS" nooutput
lines = int(LINES_max)
low = TOKENS_min / 1.6
high = TOKENS_max * 1.6
step = high / low > 2 ** 16 ? 16 : high / low > 2 ** 8 ? 4 : 2

set label 1 caption at screen 14.0 / ARG4, screen (foot - 6.0) / ARG5 left font ",10" textcolor rgb "#555555"
set lmargin at screen 500.0 / ARG4
set rmargin at screen 1 - 30.0 / ARG4
set tmargin at screen 1 - 48.0 / ARG5
set bmargin at screen (130.0 + foot) / ARG5
set border 1 linecolor rgb "#444444"
set tics nomirror out scale tic textcolor rgb "#222222"
set grid linecolor rgb "#e4e4e4" linewidth 1 linetype 1
set logscale x 2
set xrange [low:high]
set xtics 1, step
set yrange [lines + 0.7:0.3]
set ytics scale 0
set format x "%g"
set xlabel "batch × length (tokens; images: batch)"
set title sprintf("Is %g × weights enough for inference?", ARG6 + 0) offset 0, -0.2
set key at screen 0.5, screen (62.0 + foot) / ARG5 center top horizontal maxrows 2 Left reverse samplen 1.2 width 2

plot ARG1 index 1 using (low):1:ytic(2) with points pointtype -1 notitle, \
     ARG1 index 2 using 2:($1 - 0.42):(0):(0.84) with vectors nohead linewidth 2 linecolor rgb "#222222" notitle, \
     ARG1 index 0 using 2:($4 == 2 ? $1 : NaN) with points pointtype 6 pointsize 0.8 * mark linewidth 1.6 \
         linecolor rgb "#4d4d4d" title "wasteful", \
     ARG1 index 0 using 2:($4 == 1 ? $1 : NaN) with points pointtype 7 pointsize 0.8 * mark linecolor rgb "#0072b2" \
         title "close", \
     ARG1 index 0 using 2:($4 == 0 ? $1 : NaN) with points pointtype 9 pointsize 0.9 * mark linecolor rgb "#d55e00" \
         title "too little", \
     NaN with points pointtype "|" linecolor rgb "#222222" title "crossing"
