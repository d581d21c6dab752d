#!/bin/bash
# Steps of a workflow for GitHub, one after the other in the current folder, as its runner takes them.
#
# usage: github_steps.sh FILE SCENE STEP...      SCENE: a folder, of which `device` takes the place of the GPU's options
# Exit code: that of the first step that failed; the steps behind it are not run. The last step's outputs are in
# SCENE/output.
file=$1 scene=$2
shift 2
export GITHUB_STEP_SUMMARY=$scene/summary.md GITHUB_OUTPUT=$scene/output
for step; do
    awk -v step="$step" -f "${0%/*}/night_step.awk" "$file" |
        sed "s/--device cuda:0 --need-gpu/$(cat "$scene/device")/" >"$scene/step.sh"
    : >"$GITHUB_OUTPUT"
    bash --noprofile --norc -e -o pipefail "$scene/step.sh" || exit
done
