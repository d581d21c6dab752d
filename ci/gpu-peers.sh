# PyTorch beside the suites of ci/gpu.sh: the same cases measured by peers/pytorch/truth.py, and what differs. Sourced.
# shellcheck shell=sh disable=SC2154

# Says why PyTorch cannot be asked; prints nothing if it can.
pytorch_why_not() {
    if [ "$gpu" != yes ]; then
        echo "$gpu_why_not"
    elif ! command -v "$python" >/dev/null 2>&1; then
        echo "$python was not found; name one that has torch with --python"
    elif ! ci/within.sh 60 "$python" -c 'import torch, transformers' >"$scratch/printed" 2>&1; then
        echo "$python cannot import torch and transformers: $(tail -n 1 "$scratch/printed")"
    elif ! ci/within.sh 60 "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then
        echo "the torch of $python finds no GPU"
    fi
}

# One plan of all cases that the suites measure, so that every family has its turn early.
plan_make() {
    set --
    for suite in load inference-overhead adam generate; do
        for tag in $(suite_tags "$suites/$suite-gpu.yaml"); do
            plan=$scratch/plan-$suite-$tag.json
            "$build/assay" plan "$suites/$suite-gpu.yaml" --filter "$tag" --json >"$plan" || return
            set -- "$@" "$plan"
        done
    done
    "$python" -c '
import json, sys
plans = [json.load(open(path, encoding="utf-8")) for path in sys.argv[1:]]
cases = {case["id"]: case for plan in plans for case in plan["cases"]}
json.dump({"suite": "gpu", "description": "cases of ci/gpu.sh",
           "plan_hash": "+".join(plan["plan_hash"] for plan in plans),
           "suite_case_count": len(cases), "case_count": len(cases), "cases": list(cases.values())}, sys.stdout)
' "$@" >"$scratch/plan.json"
}

part_pytorch() {
    gpu_ask || return
    why_not=$(pytorch_why_not)
    if [ -n "$why_not" ]; then
        remark "$why_not"
        return 77
    fi
    plan_make || return 99
    # A case that hangs ends before the part does, so that truth.py writes its last lines itself.
    budget=$(((part_end_ms - $(elapsed_ms)) / 1000 - 30))
    limited "$python" peers/pytorch/truth.py --plan "$scratch/plan.json" --out "$out/truth.jsonl" --budget "$budget" \
        --case-timeout 30
    code=$?
    ! grep -q '"status": *"ok"' "$out/truth.jsonl" || measured_note
    remark "$(awk -v count="$(grep -o '"id"' "$scratch/plan.json" | wc -l)" '
        /"type": *"case"/ { done++; if ($0 ~ /"status": *"ok"/) ok++; else if ($0 ~ /"status": *"skip"/) skip++ }
        END {
            printf "%d of %d cases: %d ok, %d that PyTorch has not, ", done, count, ok, skip
            printf "%d not measured", done - ok - skip
            if (done < count) printf "; %d had no time", count - done
        }' "$out/truth.jsonl")"
    # The time is meant for a part of the cases, whose order spreads the models; no case at all is not enough.
    if [ "$code" -eq 0 ] && ! grep -q '"type": *"case"' "$out/truth.jsonl"; then
        cause time
        code=3
    fi
    return "$code"
}

# Whether what differs is for us to answer for: one release of torch is followed, and the classes of GPUs that
# `assay gpus` lists. Says why not, else nothing.
compare_why_not() {
    version=$(sed -n 's/.*"torch": *"\([0-9]*\.[0-9]*\)[^"]*".*/\1/p' "$out/truth.jsonl" | head -n 1)
    release=$(sed -n 's/.* follows transformers [0-9.]*, torch \([0-9.]*\) .*/\1/p' docs/RELEASES.md)
    if [ "$version" != "$release" ]; then
        echo "the torch is ${version:-unknown}, and torch $release is what is followed"
    elif ! "$build/assay" gpus --json | grep -q "\"target\": *\"$gpu_target\""; then
        echo "nobody knows yet what PyTorch takes on a GPU of the class ${gpu_target:-that has no name}"
    fi
}

# Every case that both have measured: PyTorch's bytes, ours, the difference. The worst allocated peak decides.
part_compare() {
    if [ ! -s "$out/truth.jsonl" ] || [ ! -s "$out/records.jsonl" ]; then
        remark "there is nothing of PyTorch to compare with"
        return 77
    fi
    limited "$python" peers/pytorch/truth_records.py "$out/truth.jsonl" --out "$scratch/pytorch" || return 99
    limited "$build/assay" compare "$scratch/pytorch" "$out/records.jsonl" --within 2% >"$out/compare.txt"
    code=$?
    sed -n '/^  over all cases/,/^$/p' "$out/compare.txt" | tee "$scratch/agreement"
    remark "$(tail -n 2 "$out/compare.txt" | tr -s '\n ' '  ')"
    if [ "$code" -eq 1 ] && [ -n "$(compare_why_not)" ]; then
        remark "$(cat "$scratch/remark"); not judged: $(compare_why_not)"
        cause unjudged
        code=3
    elif [ "$code" -eq 3 ] && grep -q '	time	' "$scratch/codes"; then
        cause time # what is missing is what ours had no time for
    fi
    return "$code"
}
