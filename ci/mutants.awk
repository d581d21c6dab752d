# The mutants of one source: each takes away one barrier, wait, fence, bound check, device setting or fallback. A line
# of the answer: KIND, FILE, LINE, which of the lines of that text and which place in it, the text, and the line as it
# becomes; tabs between them.
function tell(kind, nth, becomes,    text) {
    text = $0
    sub(/ *\\$/, "", text)
    gsub(/^ +| +$/, "", text)
    if (FNR != last_line) place = ++places[text]
    last_line = FNR
    print kind "\t" FILENAME "\t" FNR "\t" place "." nth "\t" text "\t" becomes
}

# Each place of the pattern in the line goes, one a mutant.
function without(kind, pattern, instead,    rest, before, nth) {
    rest = $0
    before = ""
    nth = 0
    while (match(rest, pattern)) {
        tell(kind, ++nth, before substr(rest, 1, RSTART - 1) instead substr(rest, RSTART + RLENGTH))
        before = before substr(rest, 1, RSTART + RLENGTH - 1)
        rest = substr(rest, RSTART + RLENGTH)
    }
}

# The condition of an `if` that ends in its line is judged part by part, as `&&` or `||` joins them outside brackets:
# each that compares sizes becomes what lets everything pass.
function parts_decided(kind,    start, end, at, depth, from, count, two, first, last, joint, k) {
    start = index($0, "if (") + 4
    end = match($0, /\) \{ *\\?$/)
    if (start == 4 || end < start) return
    depth = count = 0
    joint = ""
    from = start
    for (at = start; at <= end; at++) {
        two = substr($0, at, 2)
        if (at == end || (depth == 0 && (two == "&&" || two == "||"))) {
            if (at < end) joint = two
            first[++count] = from
            last[count] = at - 1
            from = at + 3
        }
        if (substr(two, 1, 1) == "(") depth++
        if (substr(two, 1, 1) == ")") depth--
    }
    for (k = 1; k <= count; k++) part_decided(kind, first[k], last[k], k, joint)
}

function part_decided(kind, from, to, nth, joint,    part, passes) {
    part = substr($0, from, to - from + 1)
    sub(/ +$/, "", part)
    if (kind == "bound" && part !~ / (<|>=|>) /) return
    # What stands alone leaves early where it says >= or > or < 0, and goes in where it says < or >= 0.
    passes = joint == "&&" || (joint == "" && (part ~ / < / || part ~ / >= 0$/) && part !~ / < 0$/)
    if (kind == "fallback" && part ~ /refused/) passes = part ~ /^!/
    tell(kind, nth, substr($0, 1, from - 1) (passes ? "true" : "false") substr($0, from + length(part)))
    # What is left out where there is nothing may be begun there; what is only for what fits, taken for everything.
    if (joint == "" && (part ~ / > 0$/ || part ~ /_fits_?[a-z_]*\(/)) {
        tell(kind, nth + 1, substr($0, 1, from - 1) "true" substr($0, from + length(part)))
    }
}

/^ *(\/\*|\*|\/\/)/ || /^#/ { next }
/BODY void team_wait/ { next }

{
    without("barrier", "(__syncthreads|__syncwarp)\\(\\);", ";")
    without("barrier", "team_wait\\(team\\);", ";")
    without("barrier", "__syncthreads_or", "")
    without("wait", "copies_wait<[0-9]>\\(\\);", ";")
    without("fence", "__threadfence\\(\\);", ";")
    without("device", "cudaSetDevice\\([^()]*\\)", "cudaSuccess")
}

/if \(!?[a-z_]*(refused|_fits_?[a-z_]*|is_aligned)\(.*\) \{/ {
    parts_decided("fallback")
    next
}

# In what runs on a GPU: what is beyond the last is not left out any more.
/if \(.* (<|>=|>) .*\) \{/ && (FILENAME ~ /body_|launch_|kernels\.cu/) {
    parts_decided("bound")
}
