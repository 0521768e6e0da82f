#!/bin/bash
# Is deaf to the gentler signals and has a child that left its session; both tell their numbers.
trap '' INT TERM
setsid sleep 300 &
echo "$$ $!" > "$OUT.part"
mv "$OUT.part" "$OUT"
while :; do sleep 0.05; done
