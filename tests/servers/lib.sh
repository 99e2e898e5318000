# What the start scripts share (sourced, not run).

# need_free_port PORT...: fails when something already listens there.
need_free_port() {
  local port
  for port in "$@"; do
    if (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null; then
      echo "port $port is taken" >&2
      return 1
    fi
  done
}

# wait_port PORT PID LOG SECONDS: until something answers on 127.0.0.1:PORT.
wait_port() {
  local end=$((SECONDS + $4))
  until (exec 3<> "/dev/tcp/127.0.0.1/$1") 2> /dev/null; do
    if ! kill -0 "$2" 2> /dev/null; then
      echo "the server ended before it answered; its last lines:" >&2
      tail -n 20 "$3" >&2
      return 1
    fi
    if [ "$SECONDS" -ge "$end" ]; then
      echo "no answer on port $1 in $4 s; its last lines:" >&2
      tail -n 20 "$3" >&2
      return 1
    fi
    sleep 0.1
  done
}

# zk_word PORT WORD: ZooKeeper's answer to a four-letter word.
zk_word() {
  (
    exec 3<> "/dev/tcp/127.0.0.1/$1" && printf '%s' "$2" >&3 && timeout 2 cat <&3
  ) 2> /dev/null || true
}

# wait_zk PORT PID LOG SECONDS: until ZooKeeper serves requests (its port opens earlier).
wait_zk() {
  local end=$((SECONDS + $4))
  until case "$(zk_word "$1" srvr)" in *Mode:*) true ;; *) false ;; esac do
    if ! kill -0 "$2" 2> /dev/null || [ "$SECONDS" -ge "$end" ]; then
      echo "ZooKeeper on port $1 does not serve; its last lines:" >&2
      tail -n 20 "$3" >&2
      return 1
    fi
    sleep 0.1
  done
}

# end_with OWNER PID: kills PID when the process OWNER has ended.
end_with() {
  (
    while kill -0 "$1" && kill -0 "$2"; do sleep 0.5; done
    kill -0 "$1" || kill -9 "$2"
  ) > /dev/null 2>&1 < /dev/null &
}

# The small, quick JVM that every Java server here gets.
JVM_FLAGS="-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto"
