#!/bin/bash
# zookeeper-start.sh PORT DIR: Debian's ZooKeeper 3.8 on 127.0.0.1:PORT.
#
# Environment (all optional):
#   ZK_TLS_PORT=N      also a TLS port; certificates are made in DIR/tls
#                      (ca.pem, client.pem, client.key; password "password").
#   ZK_SASL=1          SASL login with DIGEST-MD5: user "ann", password "secret".
#   ZK_SUPER=1         digest super user: "super:admin" may do everything.
#   ZK_NO_DIGEST=1     refuses every digest login.
#   ZK_CONTAINER_CHECK_MS=N  looks for empty containers so often, not once a minute.
#   ZK_HEAP=256m       Java heap.
#   OWNER_PID=N        the server is killed when this process has ended.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
port=$1 dir=$2
need_free_port "$port" ${ZK_TLS_PORT:+"$ZK_TLS_PORT"}
mkdir -p "$dir/data"
cat > "$dir/zoo.cfg" <<CFG
tickTime=500
minSessionTimeout=1000
initLimit=10
syncLimit=5
dataDir=$dir/data
clientPort=$port
clientPortAddress=127.0.0.1
admin.enableServer=false
4lw.commands.whitelist=*
maxClientCnxns=0
CFG
cat > "$dir/log4j.properties" <<CFG
log4j.rootLogger=WARN, OUT
log4j.appender.OUT=org.apache.log4j.ConsoleAppender
log4j.appender.OUT.layout=org.apache.log4j.PatternLayout
log4j.appender.OUT.layout.ConversionPattern=%d %p %c{1}: %m%n
CFG
flags="-Dzookeeper.jmx.log4j.disable=true"
if [ -n "${ZK_TLS_PORT:-}" ]; then
  mkdir -p "$dir/tls"
  (
    cd "$dir/tls"
    openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=test-ca -keyout ca.key -out ca.pem
    for who in server client; do
      openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout $who.key -out $who.csr
      printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\n' > $who.ext
      openssl x509 -req -in $who.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 \
        -extfile $who.ext -out $who.pem
      openssl pkcs12 -export -in $who.pem -inkey $who.key -out $who.p12 -passout pass:password
    done
    keytool -importcert -noprompt -alias ca -file ca.pem -keystore trust.p12 -storetype PKCS12 \
      -storepass password
  ) > "$dir/tls.log" 2>&1
  cat >> "$dir/zoo.cfg" <<CFG
secureClientPort=$ZK_TLS_PORT
secureClientPortAddress=127.0.0.1
serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory
ssl.keyStore.location=$dir/tls/server.p12
ssl.keyStore.password=password
ssl.keyStore.type=PKCS12
ssl.trustStore.location=$dir/tls/trust.p12
ssl.trustStore.password=password
ssl.trustStore.type=PKCS12
CFG
fi
if [ -n "${ZK_SASL:-}" ]; then
  cat > "$dir/jaas.conf" <<CFG
Server {
  org.apache.zookeeper.server.auth.DigestLoginModule required
  user_ann="secret";
};
CFG
  printf 'authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider\n' >> "$dir/zoo.cfg"
  flags="$flags -Djava.security.auth.login.config=$dir/jaas.conf"
fi
if [ -n "${ZK_SUPER:-}" ]; then
  digest=$(printf super:admin | openssl dgst -sha1 -binary | base64)
  flags="$flags -Dzookeeper.DigestAuthenticationProvider.superDigest=super:$digest"
fi
[ -z "${ZK_NO_DIGEST:-}" ] || flags="$flags -Dzookeeper.DigestAuthenticationProvider.enabled=false"
[ -z "${ZK_CONTAINER_CHECK_MS:-}" ] || flags="$flags -Dznode.container.checkIntervalMs=$ZK_CONTAINER_CHECK_MS"
jars=/usr/share/java
nohup java -Xmx"${ZK_HEAP:-256m}" $JVM_FLAGS $flags \
  -cp "$dir:$jars/zookeeper.jar:$jars/slf4j-log4j12.jar:$jars/log4j-1.2.jar:$jars/netty-codec.jar:$jars/netty-resolver.jar" \
  org.apache.zookeeper.server.quorum.QuorumPeerMain "$dir/zoo.cfg" \
  > "$dir/out.log" 2>&1 < /dev/null &
echo $! > "$dir/pid"
[ -z "${OWNER_PID:-}" ] || end_with "$OWNER_PID" "$(cat "$dir/pid")"
wait_zk "$port" "$(cat "$dir/pid")" "$dir/out.log" 30
[ -z "${ZK_TLS_PORT:-}" ] || wait_port "$ZK_TLS_PORT" "$(cat "$dir/pid")" "$dir/out.log" 30
