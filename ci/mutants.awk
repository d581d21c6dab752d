# The mutants of one source: each takes away one barrier, wait, fence, bound check, device setting or fallback. Prints a
# line for each: KIND, FILE, LINE, which of the lines of that text and which place in it, the text, NUMBER; tabs between
# them. With -v choices=1 it prints the source instead, in which each place asks tests/mutants/mutant.h whether it is to
# be as it was. Numbers begin at -v first=N.
function tell(kind, nth,    text) {
    text = $0
    sub(/ *\\$/, "", text)
    gsub(/^ +| +$/, "", text)
    if (FNR != last_line) place = ++places[text]
    last_line = FNR
    if (!choices) print kind "\t" FILENAME "\t" FNR "\t" place "." nth "\t" text "\t" first + count
    return first + count++
}

# The characters from one to another, the last included, become before, themselves, after.
function wrap(from, to, before, after) {
    ahead[from] = before ahead[from]
    behind[to] = behind[to] after
}

# Each place of the pattern in the line; before and after have the number where they say %d.
function without(kind, pattern, before, after,    rest, passed, nth, number) {
    rest = $0
    passed = nth = 0
    while (match(rest, pattern)) {
        number = tell(kind, ++nth)
        wrap(passed + RSTART, passed + RSTART + RLENGTH - 1, sprintf(before, number), sprintf(after, number))
        passed += RSTART + RLENGTH - 1
        rest = substr($0, passed + 1)
    }
}

# The condition of an `if` that ends in its line is judged part by part, as `&&` or `||` joins them outside brackets:
# each that compares sizes becomes what lets everything pass.
function parts_decided(kind,    start, end, at, depth, from, parts, two, begins, ends, joint, k) {
    start = index($0, "if (") + 4
    end = match($0, /\) \{ *\\?$/)
    if (start == 4 || end < start) return
    depth = parts = 0
    joint = ""
    from = start
    for (at = start; at <= end; at++) {
        two = substr($0, at, 2)
        if (at == end || (depth == 0 && (two == "&&" || two == "||"))) {
            if (at < end) joint = two
            begins[++parts] = from
            ends[parts] = at - 1
            from = at + 3
        }
        if (substr(two, 1, 1) == "(") depth++
        if (substr(two, 1, 1) == ")") depth--
    }
    for (k = 1; k <= parts; k++) part_decided(kind, begins[k], ends[k], k, joint)
}

function part_decided(kind, from, to, nth, joint,    part, passes) {
    part = substr($0, from, to - from + 1)
    sub(/ +$/, "", part)
    if (kind == "bound" && part !~ / (<|>=|>) /) return
    # What stands alone leaves early where it says >= or > or < 0, and goes in where it says < or >= 0.
    passes = joint == "&&" || (joint == "" && (part ~ / < / || part ~ / >= 0$/) && part !~ / < 0$/)
    if (kind == "fallback" && part ~ /refused/) passes = part ~ /^!/
    part_becomes(kind, from, from + length(part) - 1, nth, passes ? "true" : "false")
    # What is left out where there is nothing may be begun there; what is only for what fits, taken for everything.
    if (joint == "" && (part ~ / > 0$/ || part ~ /_fits_?[a-z_]*\(/)) {
        part_becomes(kind, from, from + length(part) - 1, nth + 1, "true")
    }
}

function part_becomes(kind, from, to, nth, instead) {
    wrap(from, to, "mutant_decides(" tell(kind, nth) ", ", ", " instead ")")
}

function line_print(    at, line) {
    line = ""
    for (at = 1; at <= length($0); at++) line = line ahead[at] substr($0, at, 1) behind[at]
    print line
}

# Of the line as it stands.
function line_read() {
    if (/^ *(\/\*|\*|\/\/)/ || /^#/ || /BODY void team_wait/) return
    without("barrier", "(__syncthreads|__syncwarp)\\(\\);", "{ if (!mutant_lacks(%d)) ", " }")
    without("barrier", "team_wait\\(team\\);", "{ if (!mutant_lacks(%d)) ", " }")
    without("barrier", "__syncthreads_or\\(", "mutant_", "%d, ")
    without("wait", "copies_wait<[0-9]>\\(\\);", "{ if (!mutant_lacks(%d)) ", " }")
    without("fence", "__threadfence\\(\\);", "{ if (!mutant_lacks(%d)) ", " }")
    without("device", "cudaSetDevice\\([^()]*\\)", "(mutant_lacks(%d) ? cudaSuccess : ", ")")
    if (/if \(!?[a-z_]*(refused|_fits_?[a-z_]*|is_aligned)\(.*\) \{/) {
        parts_decided("fallback")
    } else if (/if \(.* (<|>=|>) .*\) \{/ && (FILENAME ~ /body_|launch_|kernels\.cu/)) {
        # In what runs on a GPU: what is beyond the last is not left out any more.
        parts_decided("bound")
    }
}

{
    split("", ahead)
    split("", behind)
    line_read()
    if (choices) line_print()
}
