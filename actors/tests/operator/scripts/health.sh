#!/bin/sh
# Says how the machine is, as a file tells it.
echo "$GITEA_RUNNER_HEALTH_CHECK $GITEA_RUNNER_RUNNING_JOBS $OWN" >> "$OUT"
echo "the state is $(cat "$STATE")"
exit "$(cat "$STATE")"
