# What ci/gpu.sh has found, as one exit code and one line. $scratch/codes has a line for each part that was run: exit
# code, part, cause in a word, cause in a sentence. Sourced, not run.
# shellcheck shell=sh disable=SC2034,SC2154

# A part has measured something of what the run is about: the GPU, if there is one.
measured_note() {
    case $gpu:$part in
    yes:host | faulty:*) ;;
    *) echo "$part" >>"$scratch/measured" ;;
    esac
}

# A fault before usage before a failure before what is open; skipped only if all is. What had no time, and what was not
# judged, leaves the run a pass as long as something was measured at all; --need-all wants it, too.
verdict_code() {
    awk -F '\t' -v need_all="$need_all" -v measured="$(grep -c . "$scratch/measured")" '
        {
            excused = $3 == "unjudged" || ($3 == "time" && $2 != "build" && $2 != "device")
            seen[$1 == 3 && excused && need_all == "no" && measured > 0 ? 0 : $1] = 1
        }
        END {
            for (i = split("99 2 1 3 0", order, " "); i > 0; i--) {
                if (order[i] in seen) {
                    worst = order[i]
                }
            }
            print worst == "" ? 77 : worst
        }' "$scratch/codes"
}

# The groups of parts that went the same way, the worst first. $1: the exit code.
verdict_words() {
    gpu_state=$(cat "$scratch/gpu" 2>/dev/null || echo unknown)
    awk -F '\t' -v worst="$1" -v gpu="$gpu_state" '
        BEGIN {
            count = split("99 2 1gpu 1 1host 3stuck 3busy 3unusable 3absent 3missing 3disturbed 3interrupted 3 3time " \
                          "3unjudged", order, " ")
            words["99"] = "a fault of the program"
            words["2"] = "usage"
            words["1gpu"] = "on the GPU"
            words["1host"] = "on the host alone"
            words["3stuck"] = "the driver is stuck"
            words["3busy"] = "the GPU is busy"
            words["3unusable"] = "the GPU cannot be used"
            words["3absent"] = "there is no GPU"
            words["3missing"] = "something is missing"
            words["3disturbed"] = "disturbed"
            words["3interrupted"] = "interrupted"
            words["3time"] = "had no time"
            words["3unjudged"] = "not judged"
        }
        $1 != 0 && $1 != 77 {
            group = $1 (($1 "" $3) in words ? $3 : "")
            parts[group] = parts[group] gap[group] $2
            gap[group] = ", "
            if (reason[group] == "") {
                reason[group] = $4
            }
        }
        END {
            named = worst == 0 || worst == 77
            line = worst == 0 ? "pass" : worst == 3 ? "inconclusive" : worst == 77 ? "skipped" : "FAIL"
            if (worst == 0 && gpu == "no") {
                line = line " on the host, there is no GPU"
            }
            for (i = 1; i <= count; i++) {
                group = order[i]
                if (!(group in parts)) {
                    continue
                }
                text = words[group] (reason[group] != "" ? " (" reason[group] ")" : "")
                if (named) {
                    line = line "; " (text != "" ? text : "open")
                } else {
                    line = line (text == "" ? "" : group ~ /^1/ ? " " : group ~ /^3/ ? ", " : ": ") text
                }
                line = line ": " parts[group]
                named = 1
            }
            print line
        }' "$scratch/codes"
}
