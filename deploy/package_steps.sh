#!/usr/bin/env bash
# The steps of deploy/test_package.sh. They run as a service in a Debian system with systemd as
# process 1, which deploy/test_package.sh boots with these packages below /packages:
#
#   before   the version before the one under test, with another default configuration
#   now      the version under test
#   after    a later version, with another default configuration
#
# FORM is short or full. Prints each step and its result; exits with 0 if everything is right.
set -euo pipefail
cd /packages

config=/etc/fairlock/fairlock.yaml
log=/packages/apt.log
password=
step=
trap 'OnEnd $?' EXIT

OnEnd() {
  [ "$1" = 0 ] && return
  echo "FAILED: $step"
  systemctl --no-pager status fairlockd || true
  journalctl --no-pager -q -o cat -u fairlockd | tail -n 30 || true
  tail -n 30 "$log" || true
}

Step() {
  step=$*
  printf '\n%s\n' "== $step"
}

# Is WHAT ACTUAL EXPECTED: prints WHAT and its actual value; fails if another value is expected.
Is() {
  printf '  %s: %s\n' "$1" "${2:-(nothing)}"
  [ "$2" = "$3" ] && return
  printf '  expected: %s\n' "${3:-(nothing)}"
  return 1
}

Apt() { apt-get -q -y "$@" >>"$log" 2>&1 </dev/null; }
Install() { Apt "${@:2}" install "/packages/$1"/*.deb; }

# Try COMMAND...: repeats it until it succeeds, for at most 20 s.
Try() {
  local tries
  for ((tries = 0; tries < 200; tries++)); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.1
  done
  echo "  not within 20 s: $*"
  return 1
}

# Becomes EXPECTED COMMAND...: repeats the command until it prints EXPECTED.
Prints() { [ "$("${@:2}")" = "$1" ]; }
Becomes() { Try Prints "$@"; }

Ask() { env ${password:+REDISCLI_AUTH="$password"} redis-cli -p 3247 "$@"; }
Process() { systemctl show -P MainPID fairlockd; }
IsReplaced() { [ "$(Process)" != 0 ] && [ "$(Process)" != "$1" ]; }
Access() { stat -c '%U:%G %a' "$1"; }
Queue() { Ask QUEUE "$1" | grep -oxE 'w[1-9]' | paste -sd ' '; }
QueueIs() { [ "$(Queue "$1")" = "$2" ]; }
As() { setpriv --reuid "$1" --regid "$(id -g "$1")" --clear-groups "${@:2}"; }

CheckService() {
  Is "enabled, active" "$(systemctl is-enabled fairlockd), $(systemctl is-active fairlockd)" \
    "enabled, active"
  Is "runs as" "$(stat -c %U "/proc/$(Process)")" fairlock
  Is "access to the data" "$(Access /var/lib/fairlock)" "fairlock:fairlock 700"
  Is "program of the process" "$(readlink "/proc/$(Process)/exe")" /usr/bin/fairlockd
}

# Waits OWNER: waits for the lock `plain`; asks again when the connection is lost.
Waits() {
  until fairlockctl lock plain "$1" --wait 10m --ttl 1h >"$1" 2>>"$1-errors"; do sleep 0.1; done
}

# Takes and waits for locks before the upgrades; replies go to files.
TakeLocks() {
  Ask CONFIG SET max_keep 10m >/dev/null
  Ask LOCK plain holder EX 3600 >plain
  Ask LOCK read reader-1 EX 3600 SHARED >reader-1
  Ask LOCK read reader-2 EX 3600 SHARED >reader-2
  Ask LOCK slots slot-1 EX 3600 LIMIT 3 >slot-1
  Ask LOCK slots slot-2 EX 3600 LIMIT 3 >slot-2
  Ask MLOCK 2 pair-1 pair-2 both EX 3600 >both
  Ask SET old-way value NX EX 3600 >/dev/null
  # w1 and w3 wait on a connection. w2 has given up its request, and keeps its place.
  Waits w1 &
  first=$!
  Try QueueIs plain "w1"
  Ask LOCK plain w2 EX 3600 WAIT 50ms KEEP 10m >w2
  Waits w3 &
  third=$!
  Try QueueIs plain "w1 w2 w3"
  Is "the queue" "$(Queue plain)" "w1 w2 w3"
  # A command that runs under a lock, which the upgrades must not disturb.
  rm -f end
  fairlockctl run under-run -- \
    sh -c 'while [ ! -e /packages/end ]; do sleep 0.1; done; echo worked' >ran 2>run-errors &
  run=$!
  Becomes 1 Ask LOCKED under-run
}

CheckHolds() {
  Is "exclusive hold" "$(Ask CHECK plain "$(cat plain)")" 1
  Is "shared holds" "$(Ask CHECK read "$(cat reader-1)") $(Ask CHECK read "$(cat reader-2)")" "1 1"
  Is "holds of a semaphore" \
    "$(Ask CHECK slots "$(cat slot-1)") $(Ask CHECK slots "$(cat slot-2)")" "1 1"
  Is "multi-lock" "$(Ask CHECK pair-1 "$(cat both)") $(Ask CHECK pair-2 "$(cat both)")" "1 1"
  Is "hold of SET NX" "$(Ask GET old-way)" value
  Is "token of a newcomer" "$(Ask LOCK plain newcomer EX 10)" ""
}

ConnectedWaiters() { Ask CLIENT LIST | grep -c "wait-key=plain"; }

CheckQueue() {
  Becomes 2 ConnectedWaiters
  Is "waiters that came back" "$(ConnectedWaiters)" 2
  Is "the queue" "$(Queue plain)" "w1 w2 w3"
  Is "the lock of the command under run is held" "$(Ask LOCKED under-run)" 1
  kill -0 "$run"
}

# Ends what TakeLocks began: the queue moves on in order, with increasing tokens.
EndLocks() {
  Ask LOCK plain w2 EX 3600 WAIT 60s >w2 &
  second=$!
  Ask UNLOCK plain holder >/dev/null
  wait "$first"
  Ask UNLOCK plain w1 >/dev/null
  wait "$second"
  Ask UNLOCK plain w2 >/dev/null
  wait "$third"
  Ask UNLOCK plain w3 >/dev/null
  Is "tokens rise from the holder to w3" \
    "$(($(cat plain) < $(cat w1) && $(cat w1) < $(cat w2) && $(cat w2) < $(cat w3)))" 1
  touch end
  wait "$run"
  Is "the command under run" "$(cat ran)" worked
}

# NotThere PATH...: fails if one of these exists.
NotThere() {
  local path
  for path in "$@"; do
    Is "$path" "$(ls -d "$path" 2>/dev/null || echo gone)" gone
  done
}

# Says USER COMMAND...: prints the output of the command, run as this user, and its exit code.
Says() {
  local status=0
  As "$@" >said 2>&1 || status=$?
  printf '%s\n' "$(cat said) (status $status)"
}

InstallAndUpgrade() {
  local process
  Step "install the version before: $(ls before | paste -sd ' ')"
  Install before
  CheckService
  Is "a command under a lock" "$(fairlockctl run nightly -- echo ran)" ran
  TakeLocks

  Step "upgrade with locks held and waited for; the configuration is as it was installed"
  # The mode that earlier versions left, because their archives had it.
  chown root:root $config
  chmod 644 $config
  process=$(Process)
  Install now
  CheckService
  Is "it was restarted" "$(($(Process) != process))" 1
  Is "lines of the old configuration" "$(grep -c "of version 0.0.9" $config || true)" 0
  Is "access to the configuration" "$(Access $config)" "root:fairlock 640"
  CheckHolds
  CheckQueue

  Step "upgrade with the same locks; the configuration was edited and is kept"
  sed -i 's/^max_clients: .*/max_clients: 77/' $config
  process=$(Process)
  Install after -o Dpkg::Options::=--force-confold
  CheckService
  Is "it was restarted" "$(($(Process) != process))" 1
  Is "max_clients" "$(Ask CONFIG GET max_clients | tail -n 1)" 77
  Is "access to the configuration" "$(Access $config)" "root:fairlock 640"
  Is "access to the new default beside it" "$(Access $config.dpkg-dist)" "root:fairlock 640"
  CheckHolds
  CheckQueue
  EndLocks
}

SetPassword() {
  Step "a password in the configuration, then a reload"
  sed -i 's/^requirepass: .*/requirepass: "a secret of the test"/' $config
  systemctl reload fairlockd
  password="a secret of the test"
  Becomes OK Ask CONFIG SET max_keep 1m
  Is "user nobody: cat" "$(Says nobody cat $config)" "cat: $config: Permission denied (status 1)"
  echo "  user nobody: $(Says nobody fairlockd --config $config --check-config)"
  grep -q "$config: must be a readable file: Permission denied" said
  Says nobody fairlockctl status >said-with-status
  echo "  user nobody: $(cat said-with-status)"
  grep -q -- "NOAUTH.*--password-file.*(status 77)" said-with-status
  (umask 077 && echo "$password" >/etc/fairlock-password)
  export FAIRLOCK_PASSWORD_FILE=/etc/fairlock-password
  Is "root, with a file of the password" "$(fairlockctl run nightly -- echo ran)" ran
}

KillIt() {
  local process
  Step "the process is killed: systemd starts it again"
  process=$(Process)
  Ask LOCK plain holder EX 3600 >plain
  kill -KILL "$process"
  Try IsReplaced "$process"
  Try fairlockctl ping
  CheckService
  Is "another process" "$(($(Process) != process))" 1
  Is "exclusive hold" "$(Ask CHECK plain "$(cat plain)")" 1
}

# Prints the backup folders, oldest first.
Backups() { ls -d /var/lib/fairlock/backups/fairlock-*; }
HasTurnedOver() { [ "$(Backups | wc -l)" = 2 ] && [ ! -e "$1" ]; }

BackUp() {
  local soon=/run/systemd/system/fairlock-backup.timer.d first
  Step "the timer makes backups, of which two are kept"
  Is "fairlock-backup.timer is" "$(systemctl is-enabled fairlock-backup.timer || true)" disabled
  install -m 640 -g fairlock /etc/fairlock-password /etc/fairlock/backup-password
  printf '%s\n' KEEP=2 FAIRLOCK_PASSWORD_FILE=/etc/fairlock/backup-password \
    >/etc/default/fairlock-backup
  # Backs up every two seconds instead of once a day.
  mkdir -p $soon
  printf '%s\n' '[Timer]' OnCalendar= 'OnCalendar=*:*:0/2' RandomizedDelaySec=0 AccuracySec=100ms \
    >$soon/soon.conf
  systemctl daemon-reload
  systemctl enable --now fairlock-backup.timer 2>/dev/null
  Try Backups
  first=$(Backups | head -n 1)
  Try HasTurnedOver "$first"
  rm -r $soon
  systemctl daemon-reload
  systemctl restart fairlock-backup.timer
  systemctl list-timers --no-legend --no-pager fairlock-backup.timer
  Backups
  Is "access" "$(Access "$(Backups | tail -n 1)")" "fairlock:fairlock 700"

  Step "a backup that fails is a unit that failed"
  mv /etc/fairlock/backup-password /etc/fairlock/elsewhere
  ! systemctl start fairlock-backup.service 2>/dev/null
  Is "fairlock-backup.service is" "$(systemctl is-failed fairlock-backup.service)" failed
  journalctl --no-pager -q -o cat -t fairlockctl -n 1
  mv /etc/fairlock/elsewhere /etc/fairlock/backup-password
  sleep 1  # a backup is named after its second, and the timer has just made one
  systemctl start fairlock-backup.service
  Is "with the password, its result is" \
    "$(systemctl show -P Result fairlock-backup.service)" success
}

Restore() {
  local backup data=/var/lib/fairlock/data
  Step "restore: the locks of the backup are held, tokens are higher than any before"
  backup=$(Backups | tail -n 1)
  Ask LOCK after-backup someone EX 3600 >newer
  systemctl stop fairlockd
  echo "  over the data: $(Says root \
    fairlockd --config $config --data-dir $data --restore "$backup")"
  grep -q "is not empty" said
  mv $data $data.broken
  fairlockd --config $config --data-dir $data --restore "$backup"
  systemctl start fairlockd
  Try fairlockctl ping
  CheckService
  Is "access to what was restored" "$(Access $data)" "fairlock:fairlock 700"
  Is "exclusive hold" "$(Ask CHECK plain "$(cat plain)")" 1
  Is "a hold that is newer than the backup" \
    "$(Ask CHECK after-backup "$(cat newer)")" 0
  Is "the next token is higher" "$(($(Ask LOCK after-backup another EX 3600) > $(cat newer)))" 1
  rm -r $data.broken /var/lib/fairlock/backups
}

StopItsLoop() {
  local process
  Step "the process stands still: the watchdog ends it, and systemd starts it again"
  process=$(Process)
  kill -STOP "$process"
  Try IsReplaced "$process"
  Try fairlockctl ping
  CheckService
  Is "another process" "$(($(Process) != process))" 1
  Is "exclusive hold" "$(Ask CHECK plain "$(cat plain)")" 1
}

UseItsSocket() {
  local tries
  Step "with fairlockd.socket, clients that come while the service restarts are not refused"
  systemctl stop fairlockd
  systemctl enable --now fairlockd.socket 2>/dev/null
  Becomes PONG Ask PING
  for ((tries = 0; tries < 100; tries++)); do
    Ask PING || true
  done >pings 2>&1 &
  systemctl restart fairlockd
  wait $!
  Is "replies, PONG or LOADING" \
    "$(sed 's/^LOADING.*/PONG/' pings | grep . | sort | uniq -c | xargs)" "100 PONG"
  Is "exclusive hold" "$(Ask CHECK plain "$(cat plain)")" 1
}

CheckFiles() {
  Step "what is installed"
  Is "dpkg --verify" "$(dpkg --verify fairlock-server fairlock-tools)" "??5?????? c $config"
  ls -d /usr/share/fairlock/*/* /usr/share/doc/fairlock/{*.md,recipes}
  systemd-analyze --man=no verify fairlockd.service fairlockd.socket fairlockd@00.service
  systemd-analyze security fairlockd.service | tail -n 1
}

# A node of a fleet, whose etcd cannot be reached.
StartNode() {
  mkdir -p "/run/systemd/system/fairlockd@00.service.d"
  cat >"/run/systemd/system/fairlockd@00.service.d/etcd.conf" <<'END'
[Service]
ExecStart=
ExecStart=/usr/bin/fairlockd --config /etc/fairlock/fairlock.yaml --cluster-etcd 127.0.0.1:1 \
  --port 4100 --http-port 0 --sentinel-port 0 --unix-socket /run/fairlock/00/fairlock.sock \
  --cluster-node %H-00 --cluster-announce localhost:4100 --cluster-dialect cluster
END
  systemctl daemon-reload
  systemctl start --no-block fairlockd@00
  Becomes 1 pgrep -fc -- --port\ 4100
}

Remove() {
  Step "remove: the data and the configuration stay, all services are stopped"
  StartNode
  Apt remove fairlock-server fairlock-tools
  Is "state of the service" "$(systemctl is-active fairlockd || true)" inactive
  Is "nodes of a fleet that run" "$(pgrep -fc -- --port\ 4100 || true)" 0
  NotThere /usr/bin/fairlockd /usr/bin/fairlockctl /lib/systemd/system/fairlock*
  Is "data" "$(ls /var/lib/fairlock)" $'backups\ndata\ndata.initialised'
  Is "access to the configuration" "$(Access $config)" "root:fairlock 640"

  Step "install again: the locks of before are held, what the administrator chose stays"
  chown fairlock:fairlock $config
  chmod 600 $config
  Install after -o Dpkg::Options::=--force-confold
  CheckService
  Is "access to the configuration" "$(Access $config)" "fairlock:fairlock 600"
  Is "exclusive hold" "$(Ask CHECK plain "$(cat plain)")" 1
}

Purge() {
  Step "purge: nothing stays but the user"
  rm /etc/fairlock/backup-password /etc/default/fairlock-backup
  Apt purge fairlock-server fairlock-tools
  NotThere /var/lib/fairlock /etc/fairlock /run/fairlock /usr/share/fairlock \
    /usr/share/doc/fairlock* /lib/systemd/system/fairlock*
  Is "links and states of units" \
    "$(find /etc/systemd /var/lib/systemd -name '*fairlock*' ! -name package-steps.service)" ""
  Is "units that failed" "$(systemctl --no-legend --plain list-units --state failed 'fairlock*')" ""
  Is "user" "$(getent passwd fairlock | cut -d : -f 1)" fairlock
}

BootAgain() {
  Step "another boot: the service was started by it"
  password="a secret of the test"
  export FAIRLOCK_PASSWORD_FILE=/etc/fairlock-password
  CheckService
  Is "exclusive hold" "$(Ask CHECK plain "$(cat plain)")" 1
}

if [ "$1" = first ]; then
  touch booted
  InstallAndUpgrade
  SetPassword
  KillIt
  BackUp
  Restore
fi
if [ "$1" = second ]; then
  BootAgain
  StopItsLoop
  UseItsSocket
fi
if [ "$1" = second ] || [ "$FORM" = short ]; then
  CheckFiles
  Remove
  Purge
fi
touch "$1-is-right"
