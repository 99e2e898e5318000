#!/usr/bin/env bash
# triple_greeter_test.sh TRIPLE_GREETER: what the program prints, how it ends.
set -euo pipefail
greeter="$(realpath "$1")"
folder="$(mktemp -d "${TEST_TMPDIR:-/tmp}/triple-greeter.XXXXXX")"
pid=
trap '[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || true; rm -rf "$folder"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

"$greeter" >"$folder/out" 2>"$folder/err" &
pid=$!
for _ in $(seq 300); do
  [ -s "$folder/out" ] && break
  sleep 0.1
done
address="$(sed -n 's/^listening on //p' "$folder/out")"
[[ "$address" =~ ^127\.0\.0\.1:[1-9][0-9]*$ ]] || fail "printed: $(cat "$folder/out" "$folder/err")"
exec 3<>"/dev/tcp/${address%:*}/${address##*:}" || fail "$address does not listen"
exec 3<&-

# No two servers share a port.
! "$greeter" "--listen=$address" >"$folder/second" 2>&1 || fail "a second one listens on $address"
grep -q "triple_greeter: --listen=$address: cannot listen" "$folder/second" || fail "$(cat "$folder/second")"

kill -TERM "$pid"
status=0
wait "$pid" || status=$?
pid=
[ "$status" = 0 ] || fail "ended with status $status: $(cat "$folder/err")"
[ "$(tail -n 1 "$folder/out")" = "stopped after 0 calls" ] || fail "printed: $(cat "$folder/out")"

for wrong in --listen=1 --listen=:1 --service=a/b/c "--service=" word; do
  ! "$greeter" "$wrong" >"$folder/out" 2>"$folder/err" || fail "takes $wrong"
  grep -q '^triple_greeter: ' "$folder/err" || fail "$wrong: $(cat "$folder/err")"
done
echo "PASSED"
