#!/bin/sh
# A Slurm of its own on this machine, for as long as a command runs: two nodes, n1 and n2, with four GPUs each that are
# no GPUs. It has its own folder, key and ports on the loopback device, and knows nothing of a Slurm that the machine
# has besides. The command finds SLURM_CONF in its environment, so that sbatch, squeue and scontrol ask this one.
#
# usage: slurm-here.sh COMMAND [ARGUMENT...]
# The exit status is the command's; 77 where Slurm or munge is not installed, or the user is not root, whose programs
# these are; 99 where it does not start, with the end of its logs. SLURM_HERE_FOLDER: where it lives (default: a new
# folder in TMPDIR, which goes at the end; one that is named stays, with the logs).
set -u

missing() {
    echo "slurm-here.sh: $*" >&2
    exit 77
}

PATH=$PATH:/usr/sbin:/sbin
for program in munged slurmctld slurmd sbatch scontrol squeue; do
    command -v "$program" >/dev/null 2>&1 ||
        missing "$program is not installed; on Debian: apt-get install --no-install-recommends slurm-wlm munge" \
            "slurm-wlm-basic-plugins"
done
[ "$(id -u)" -eq 0 ] || missing "slurmd starts jobs as their users, and so needs root"
[ $# -gt 0 ] || {
    echo "usage: slurm-here.sh COMMAND [ARGUMENT...]" >&2
    exit 2
}

folder=${SLURM_HERE_FOLDER:-}
if [ -n "$folder" ]; then
    mkdir -p "$folder" || exit 99
    keep=yes
else
    folder=$(mktemp -d "${TMPDIR:-/tmp}/assay-slurm-XXXXXX") || exit 99
    keep=
fi
folder=$(cd "$folder" && pwd -P)
name=$(hostname -s 2>/dev/null || uname -n)
export SLURM_CONF="$folder/slurm.conf"

# Those that this script has started, by their files, and only if they are still what they were: each has the folder in
# its command line or its environment.
# shellcheck disable=SC2317 # trap calls it
daemon_stop() {
    pid=$(cat "$1" 2>/dev/null) || return 0
    cat "/proc/$pid/cmdline" "/proc/$pid/environ" 2>/dev/null | tr '\0' '\n' | grep -qF "$folder" || return 0
    kill "$pid" 2>/dev/null
    tries=100
    while kill -0 "$pid" 2>/dev/null && [ "$tries" -gt 0 ]; do
        sleep 0.05
        tries=$((tries - 1))
    done
    [ "$tries" -gt 0 ] || kill -9 "$pid" 2>/dev/null
}

# shellcheck disable=SC2317
stop() {
    trap '' EXIT INT TERM HUP
    scancel --user=root --signal=KILL --full >/dev/null 2>&1
    scancel --user=root >/dev/null 2>&1
    for file in slurmctld slurmd-n1 slurmd-n2 munged; do
        daemon_stop "$folder/run/$file.pid"
    done
    [ -n "$keep" ] || rm -rf "$folder"
}
trap 'stop' EXIT
trap 'stop; exit 130' INT
trap 'stop; exit 143' TERM HUP

# Three ports side by side that nobody listens on. A process may take one meanwhile; then Slurm does not start, and the
# next three are tried.
ports_after() {
    awk -v from="$1" '
        { split($2, address, ":"); if ($4 == "0A") used[address[2]] = 1 }
        END {
            for (port = from; port < 60000; port += 4) {
                free = 1
                for (i = 0; i < 3; i++) free = free && !(sprintf("%04X", port + i) in used)
                if (free) { print port; exit }
            }
        }' /proc/net/tcp
}

configuration_write() {
    rm -rf "$folder/run" "$folder/ctld" "$folder/spool"
    mkdir -p "$folder/run" "$folder/log" "$folder/ctld" "$folder/spool" "$folder/dev" || exit 99
    for i in 0 1 2 3; do # GPUs are files of devices: these are /dev/null
        [ -e "$folder/dev/nvidia$i" ] || mknod -m 666 "$folder/dev/nvidia$i" c 1 3 ||
            missing "no file of a device can be made in $folder"
    done
    cat >"$SLURM_CONF" <<END
ClusterName=assay
SlurmctldHost=$name(127.0.0.1)
SlurmctldPort=$port
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/run/munge.socket,cred_expire=5
CryptoType=crypto/munge
StateSaveLocation=$folder/ctld
SlurmdSpoolDir=$folder/spool/%n
SlurmctldPidFile=$folder/run/slurmctld.pid
SlurmdPidFile=$folder/run/slurmd-%n.pid
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
JobRequeue=1
KillWait=5
MaxArraySize=101
SchedulerParameters=sched_min_interval=100000,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
GresTypes=gpu
NodeName=n[1-2] NodeHostname=$name NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 2))] \
CPUs=4 RealMemory=1000 Gres=gpu:fake:4 State=UNKNOWN
PartitionName=here Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
    echo "Name=gpu Type=fake File=$folder/dev/nvidia[0-3]" >"$folder/gres.conf"
}

# Whether both nodes take jobs.
is_ready() {
    [ "$(sinfo --noheader --Node --format=%t 2>/dev/null | grep -c '^idle$')" -eq 2 ]
}

start() {
    head -c 1024 /dev/urandom >"$folder/run/munge.key" && chmod 600 "$folder/run/munge.key" &&
        chmod 755 "$folder" "$folder/run" &&
        munged --force --key-file="$folder/run/munge.key" --socket="$folder/run/munge.socket" \
            --pid-file="$folder/run/munged.pid" --log-file="$folder/log/munged.log" \
            --seed-file="$folder/run/munged.seed" --num-threads=2 >>"$folder/log/start.log" 2>&1 &&
        slurmctld -c >>"$folder/log/start.log" 2>&1 &&
        slurmd -N n1 >>"$folder/log/start.log" 2>&1 && slurmd -N n2 >>"$folder/log/start.log" 2>&1 || return 1
    tries=200
    while ! is_ready; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 1
        sleep 0.1
    done
}

port=16900
for try in 1 2 3; do
    port=$(ports_after "$port")
    [ -n "$port" ] || break
    configuration_write
    if start; then
        "$@" &
        command=$!
        wait "$command"
        status=$?
        exit "$status"
    fi
    for file in slurmctld slurmd-n1 slurmd-n2 munged; do
        daemon_stop "$folder/run/$file.pid"
    done
    port=$((port + 4))
done
echo "slurm-here.sh: Slurm does not start (try $try):" >&2
tail -n 5 "$folder"/log/*.log >&2
exit 99
