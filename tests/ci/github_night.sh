#!/bin/bash
# A night of the workflow for GitHub with its second job, in a checkout, which is the current folder. Which step and
# which job is left out after which stands here a second time, because nothing here reads the conditions.
#
# usage: github_night.sh SCENE      SCENE: as for github_steps.sh, with origin.git
# Exit code: that of the first step that failed.
scene=$1 tests=${0%/*}
steps() { "$tests/github_steps.sh" "$tests/../../ci/workflows/github/nightly.yml" "$scene" "$@"; }

code=0 measured=no
{
    steps 'What is here, and what is missing' 'The history so far' &&
        parent=$(sed -n 's/^parent=//p' "$scene/output") && steps Measure && measured=yes && steps Gate
} || code=$?
if [ "$measured" = yes ] && steps Trend; then
    rm -rf "$scene/keep"
    git clone -q "$scene/origin.git" "$scene/keep"
    cp -r assay-results "$scene/keep" # the artifact
    (cd "$scene/keep" && PARENT=$parent steps 'Keep the history') || exit
fi
exit "$code"
