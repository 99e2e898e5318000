#!/bin/bash
# The show of tools/quickstart, with programs that are built: SIGNPOST PROVIDER CONSUMER.
# Everything is on the loopback; files are in a temporary directory; both are gone when it ends.
set -euo pipefail
signpost="$1"
provider="$2"
consumer="$3"
# What the shell has set for other programs must not send the show elsewhere.
unset "${!SIGNPOST_@}" "${!DUBBO_@}" "${!THRIFT_DUBBO_@}"
dir="$(mktemp -d "${TMPDIR:-/tmp}/signpost-XXXXXX")"
server=

alive() { kill -0 "$1" 2>/dev/null; }
pause() { sleep 0.1; }

# end PID...: SIGTERM, and SIGKILL after 5 s.
end() {
  local pid
  kill -TERM "$@" 2>/dev/null || true
  for _ in {1..50}; do
    for pid in "$@"; do
      if alive "$pid"; then
        pause
        continue 2
      fi
    done
    break
  done
  kill -KILL "$@" 2>/dev/null || true
  wait "$@" 2>/dev/null || true
}

# The registry last: who leaves tells it.
finish() {
  local code=$? others
  trap '' INT TERM HUP
  others="$(jobs -pr | grep -vx "$server" || true)"
  [ -z "$others" ] || end $others
  [ -z "$server" ] || end "$server"
  rm -rf "$dir"
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

say() { printf '\n== %s\n' "$1"; }
indent() { sed 's/^/   /'; }
fail() {
  echo "quickstart: $1" >&2
  exit 1
}

# start NAME COMMAND...: its output goes to $dir/NAME, its pid is in $started.
start() {
  local name="$1"
  shift
  : >"$dir/$name"
  # A session of its own: Ctrl-C is for this script, which ends the others in their order.
  setsid "$@" >>"$dir/$name" 2>&1 &
  started=$!
}

# wait_for FILE TEXT: until the file holds it, at most 15 s.
wait_for() {
  local round
  for round in {1..150}; do
    grep -qF -- "$2" "$dir/$1" && return
    pause
  done
  cat "$dir/$1" >&2
  fail "'$2' did not happen in 15 s"
}

# start_provider NAME: its pid is in $started, its address in $address.
start_provider() {
  start "$1" "$provider" --registry="$registry?session=4000"
  wait_for "$1" "serving "
  address="$(sed -n 's/^serving //p' "$dir/$1")"
  echo "   process $started listens on $address and has"
  grep '^registered /services' "$dir/$1" | indent
}

# Counts who answers the next 30 calls.
show_calls() {
  local last
  last="$(sed -n 's/^call \([0-9]*\).*/\1/p' "$dir/consumer" | tail -1)"
  last=$((${last:-0} + 1)) # one may be under way
  wait_for consumer "call $((last + 30))"
  awk -v last="$last" '
    /^call / && $2 + 0 > last && $2 + 0 <= last + 30 {
      if (/ failed: /) failed++
      sub(/ \(try .*/, "")
      if (/ from /) answers[$NF]++
    }
    END {
      for (address in answers) print "   " answers[address] " calls answered by " address | "sort -k5"
      close("sort -k5")
      print "   " failed + 0 " calls failed"
    }' "$dir/consumer"
}

run() { # COMMAND...: shows the command and what it prints
  echo "   \$ signpost $*${flags:+ $flags}"
  "$signpost" "$@" $flags | indent
}

say "A registry: \`signpost serve\`"
registry=signpost://127.0.0.1:2280
flags=
start serve "$signpost" serve --dir="$dir/registry"
server=$started
for _ in {1..150}; do
  if grep -q "listening on" "$dir/serve" || ! alive "$server"; then break; fi
  pause
done
if ! grep -q "listening on" "$dir/serve"; then
  grep -q "cannot listen" "$dir/serve" || fail "the registry did not start: $(cat "$dir/serve")"
  echo "   Port 2280, its own, is taken; it gets another one, which the commands below must name."
  start serve "$signpost" serve --dir="$dir/registry" --listen=127.0.0.1:0
  server=$started
  wait_for serve "listening on "
  registry="signpost://$(sed -n 's/^listening on //p' "$dir/serve")"
  flags="--registry=$registry"
fi
echo "   process $server, $registry"
echo "   It knows which process offers what. In production this would be ZooKeeper."

say "Two processes of the application \`greeting\` start"
start_provider first
first_pid=$started
first=$address
start_provider second
second=$address
echo "   Each registers itself once, as an instance of \`greeting\`, when its port listens. Beside that"
echo "   stands which application provides org.example.Greeter, and what this version of it exports."

say "A consumer calls org.example.Greeter ten times a second"
start consumer "$consumer" --rate=10 --registry="$registry"
wait_for consumer "open $first"
wait_for consumer "open $second"
echo "   process $started asked the registry for the service by name, and keeps a connection to each"
echo "   address that it was told. Three seconds of calls:"
show_calls

say "What the registry knows"
run services
run instances greeting

say "$first dies: kill -9 $first_pid"
kill -KILL "$first_pid"
wait "$first_pid" 2>/dev/null || true
show_calls
echo "   The call that met the dead process was made again on the other one at once:"
grep -m 1 '(try ' "$dir/consumer" | indent || true
wait_for consumer "cancel $first"
echo "   It did not say good-bye, so its address stayed until its session ended (4 s in this show)."
echo "   Now it is off the list, and the consumer has stopped trying to reach it. It says:"
grep -E "^(close|cancel) $first" "$dir/consumer" | tail -2 | indent

say "A third process of \`greeting\` starts"
start_provider third
third=$address
wait_for consumer "open $third"
echo "   The consumer was told, and has a connection to it:"
show_calls

say "What the registry knows now"
run services
run instances greeting

say "Done"
total="$(grep -c '^call ' "$dir/consumer" || true)"
failed="$(grep -c '^call .* failed: ' "$dir/consumer" || true)"
cat <<END
   The consumer made $total calls in all; $failed failed. The processes are being ended now.

   Try it by hand, each in a terminal of its own:
     $signpost serve
     $provider
     $consumer
     $signpost watch org.example.Greeter
   Then read README.md, and examples/greeting for what to put into your own RPC framework.
END
