#!/usr/bin/env bash
# The step `run` of the action: the command under the meter, then the gate. Everything comes by the environment, so that no
# text of a workflow is ever executed as part of this script.
set -uo pipefail

record=$PLIMSOLL_ACTION_FOLDER/record.json
mkdir -p "$PLIMSOLL_ACTION_FOLDER"
# Words are split at blanks, as a shell does, without expanding anything.
read -r -d '' -a arguments < <(printf '%s\0' "$INPUT_ARGUMENTS")
read -r -d '' -a gate < <(printf '%s\0' "$INPUT_GATE")

# Runs are compared by label: that of the job, unless the arguments name one. The program here would always be bash.
export PLIMSOLL_LABEL=${PLIMSOLL_LABEL:-${GITHUB_JOB:-command}}
# The output of run and gate also goes to the summary of the step.
export PLIMSOLL_MARKDOWN=$GITHUB_STEP_SUMMARY
plimsoll run --record "$record" ${arguments[@]+"${arguments[@]}"} -- bash -eo pipefail -c "$INPUT_COMMAND"
code=$?
# A record is judged and kept even if the command failed.
if [ -e "$record" ]; then
    env -u PLIMSOLL_MARKDOWN plimsoll report "$record" --html "$PLIMSOLL_ACTION_FOLDER/report.html"
fi
if [ ${#gate[@]} -gt 0 ] && [ -e "$record" ]; then
    PLIMSOLL_HTML=$PLIMSOLL_ACTION_FOLDER/gate.html plimsoll gate "$record" "${gate[@]}"
    gated=$?
    if [ "$code" -eq 0 ]; then code=$gated; fi
fi
{
    echo "record=$record"
    echo "exit-code=$code"
} >> "$GITHUB_OUTPUT"
exit "$code"
