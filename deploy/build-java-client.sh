#!/usr/bin/env bash
# Builds clients/java with Maven, which downloads what the library and its tests need; prints
# nothing if nothing has changed. Exits with 77 if there is no Java 17 or no Maven, or if Maven
# cannot download.
set -euo pipefail
cd "$(dirname "$0")/../clients/java"

skip() {
  echo "The tests of clients/java are skipped: $1" >&2
  exit 77
}
for program in java javac mvn; do
  command -v "$program" >/dev/null || skip "they need Java 17 and Maven, and there is no $program."
done

# Tests of two presets may run at once, but only one of them may build at a time.
exec 9<.
flock 9
newer() { find . -name target -prune -o -type f -newer target/complete -print -quit; }
[ -e target/complete ] && [ -z "$(newer)" ] && exit 0

mkdir -p target
rm -f target/complete
build() {
  # The help of the plugin that installs brings it here for tests without a network.
  mvn -q -B "$@" package -DskipTests dependency:copy-dependencies -DoutputDirectory=target/jars \
    install:help \
    </dev/null >target/log 2>&1
}
echo "Building clients/java"
if ! build -o && ! build; then
  cat target/log >&2
  grep -q "COMPILATION ERROR" target/log && exit 1
  skip "Maven needs a network that reaches its registry."
fi

# Runs one of the programs in io.fairlock.conformance. With the word jedis, Lettuce is not on the
# class path.
cat >target/program <<END
cd '$PWD/fairlock/target'
places=classes:test-classes
for jar in jars/*.jar; do
  case "\$* \$jar" in
    *" jedis jars/lettuce-"* | *" jedis jars/netty-"* | *" jedis jars/reactor-"*) ;;
    *) places=\$places:\$jar ;;
  esac
done
program=\$1
shift
exec java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "\$places" \\
  "io.fairlock.conformance.\$program" "\$@"
END
touch target/complete
