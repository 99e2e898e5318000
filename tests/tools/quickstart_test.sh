#!/usr/bin/env bash
# The quick start's show: what it must show, that it ends in time, and that neither processes nor files
# are left, even if two run at the same time, or one is ended early.
set -uo pipefail
# The show takes the default port, which a server of the user's may have, and others may look for.
if [ -z "${OWN_NETWORK:-}" ] && unshare -rn true 2>/dev/null; then
  OWN_NETWORK=1 exec unshare -rn bash -c 'ip link set lo up && exec "$@"' - "$0" "$@"
fi
show=("$@")
failed=0

wrong() { # TEXT FILE
  echo "$1:"
  cat "$2"
  failed=1
}

# begin NAME: runs it; its pid is in $begun.
begin() {
  mkdir -p "$TEST_TMPDIR/$1"
  TMPDIR="$TEST_TMPDIR/$1" DUBBO_REGISTRY_ADDRESS=zookeeper://127.0.0.1:1 "${show[@]}" \
    >"$TEST_TMPDIR/$1.out" 2>&1 &
  begun=$!
}

# nothing_left NAME
nothing_left() {
  local out="$TEST_TMPDIR/$1.out" pid
  [ -z "$(ls -A "$TEST_TMPDIR/$1")" ] || wrong "left behind: $(ls -A "$TEST_TMPDIR/$1")" "$out"
  for pid in $(sed -n 's/^ *process \([0-9]*\).*/\1/p' "$out"); do
    if kill -0 "$pid" 2>/dev/null; then wrong "process $pid still runs" "$out"; fi
  done
}

begun_at=$SECONDS
begin one
one=$begun
begin two
two=$begun
for name in one two; do
  out="$TEST_TMPDIR/$name.out"
  wait "${!name}" || wrong "$name: exit code $?" "$out"
  for text in "A registry" "listens on 127.0.0.1:" "registered /services/greeting/" "dies: kill -9" \
    "(try 2)" "its address has left" "A third process" '$ signpost services' '$ signpost instances greeting' "Try it by hand"; do
    grep -qF -- "$text" "$out" || wrong "$name: no '$text'" "$out"
  done
  # Both at first, one after the kill, two again at the end: 5 lines, of three addresses.
  answers="$(grep -c 'calls answered by 127.0.0.1:' "$out")"
  addresses="$(sed -n 's/.*calls answered by //p' "$out" | sort -u | wc -l)"
  [ "$answers $addresses" = "5 3" ] || wrong "$name: $answers counts of $addresses addresses" "$out"
  [ "$(grep -c '^ *0 calls failed' "$out")" = 3 ] || wrong "$name: calls failed" "$out"
  grep -qE 'org\.example\.Greeter +thrift +greeting +2' "$out" || wrong "$name: services" "$out"
  nothing_left "$name"
done
took=$((SECONDS - begun_at))
[ "$took" -lt 60 ] || { echo "it took $took s"; failed=1; }

begin early
for _ in $(seq 300); do
  grep -q "calls answered by" "$TEST_TMPDIR/early.out" && break
  sleep 0.1
done
kill -TERM "$begun"
wait "$begun"
code=$?
[ "$code" = 143 ] || wrong "early: exit code $code" "$TEST_TMPDIR/early.out"
nothing_left early
exit "$failed"
