#!/bin/sh
# Writes down its exact environment and what is left of the jobs, and ends as it is told.
tr '\0' '\n' < /proc/$$/environ > "$OUT.part"
ls -A "$JOBS" > "$OUT.left"
mv "$OUT.part" "$OUT"
echo "after $GITEA_TASK_ID" >> "$OUT.order"
exit "${CODE:-0}"
