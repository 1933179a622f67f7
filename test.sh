#!/usr/bin/env bash
# Installs what is missing, then runs every check and every test against real
# servers, which the tests start themselves. Needs Go, and root (or sudo) only when
# something is missing.
#
#	./test.sh                  everything
#	./test.sh -run Merge -v    these tests only: go test -race -run Merge -v, in all modules
#	./test.sh ./slots          or those of one package
#	./test.sh -night           the same tests again, for hours: longer walks, more seeds, more
#	                           faults of each kind, bounds of real time, and -servers
#	./test.sh -servers         those that speak to servers, on other releases of Redis,
#	                           Valkey and ZooKeeper; -servers redis-8.0 ./producer -run
#	                           Merge chooses among them
#
# Nothing is skipped: with RMQ_REQUIRE_SERVERS=1 a test whose server is missing fails,
# internal/testing/tally fails for a test that was skipped, and internal/testing/layers for
# any build tag that would leave a test out.
set -euo pipefail
cd "$(dirname "$0")"
case ${1-} in -h | -help | --help) # the lines above
	sed -n '2,/^set/s/^#[[:space:]]\{0,1\}//p' test.sh
	exit
	;;
esac
trap 'code=$?; [ $code = 0 ] || echo "FAILED after $SECONDS s" >&2' EXIT
say() { printf '\n== %s\n' "$*"; }
retry() { # the network has hiccups
	"$@" || { echo "again in 5 s: $*" >&2; sleep 5; "$@"; } || { echo "again in 15 s: $*" >&2; sleep 15; "$@"; }
}

command -v go >/dev/null || PATH=$PATH:/usr/local/go/bin # which sudo forgets
command -v go >/dev/null || { echo "Go is needed first: https://go.dev/dl/" >&2; exit 1; }

# Debian's names. redis-tools holds the server binary without a daemon.
missing=()
[ -n "${RMQ_TEST_REDIS_SERVER-}" ] || command -v redis-server >/dev/null || [ -x /usr/bin/redis-check-rdb ] || missing+=(redis-tools)
command -v redis-cli >/dev/null || missing+=(redis-tools)
[ -e /usr/share/java/zookeeper.jar ] || missing+=(libzookeeper-java) # the same for ZooKeeper
command -v java >/dev/null || missing+=(default-jre-headless)
command -v postgres >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || missing+=(postgresql)
command -v mariadbd >/dev/null || [ -x /usr/sbin/mariadbd ] || missing+=(mariadb-server-core) # without a daemon
command -v python3 >/dev/null || missing+=(python3) # clients over HTTP
command -v node >/dev/null || missing+=(nodejs)
command -v npm >/dev/null || missing+=(npm) # linters, and what receivers of webhooks use
command -v curl >/dev/null || missing+=(curl)
command -v git >/dev/null || missing+=(git) # a release is tried in a repository of its own
command -v chromium-headless-shell >/dev/null || missing+=(chromium-headless-shell fonts-dejavu-core) # the console is looked at
echo '#include <stdlib.h>' | "${CC:-gcc}" -E -xc - >/dev/null 2>&1 || missing+=(gcc libc6-dev) # for -race
if [ -e /etc/debian_version ] && [ ! -e /etc/ssl/certs/ca-certificates.crt ]; then missing+=(ca-certificates); fi # for Go's downloads

# postgresql would make a cluster and start it; the tests make their own.
no_cluster() {
	[[ " ${missing[*]} " == *" postgresql "* ]] && [ ! -e /etc/postgresql-common/createcluster.conf ] || return 0
	"${root[@]}" mkdir -p /etc/postgresql-common
	echo 'create_main_cluster = false' | "${root[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null
}

fetch() {
	local lock=DPkg::Lock::Timeout=300
	no_cluster
	"${root[@]}" apt-get -o $lock update -qq &&
		"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o $lock install -y -qq --no-install-recommends "${missing[@]}"
}
if [ ${#missing[@]} -gt 0 ]; then
	root=()
	[ "$(id -u)" = 0 ] || root=(sudo)
	if ! command -v apt-get >/dev/null || ! command -v "${root[@]:-env}" >/dev/null; then
		echo "Please install (these are Debian's names) and run again: ${missing[*]}" >&2
		exit 1
	fi
	say "installing ${missing[*]}"
	retry fetch
fi

export RMQ_REQUIRE_SERVERS=1
# -trimpath: what was built in one folder need not be built again in another one. -buildvcs:
# works in a copy without git, too.
# SQLite is translated C: no goroutine of ours meets another in it, and to watch it costs more than what
# it does. No package with generics may go unwatched: what it instantiates, all others would use.
export GOFLAGS="${GOFLAGS-} -trimpath -buildvcs=false -gcflags=modernc.org/sqlite/lib=-race=false"
# A program that the race detector watches sleeps for a second when it ends, in case another thread has
# more to report. There are thousands of them.
export GORACE="atexit_sleep_ms=20 ${GORACE-}"
retry go mod download

if [ "${1-}" = -servers ]; then
	shift
	. internal/testing/servertest/onreleases.sh
	exit
fi
if [ $# -gt 0 ] && [ "$1" != -night ]; then
	[[ " $* " == *" ./"* ]] || set -- "$@" work # all modules of go.work
	go test -race -count=1 -parallel 8 "$@"
	exit
fi

say "source"
unformatted=$(find . -name '*.go' -not -path './.git/*' -exec "$(go env GOROOT)/bin/gofmt" -l {} +)
[ -z "$unformatted" ] || { printf 'not formatted, run gofmt -w on:\n%s\n' "$unformatted"; exit 1; }
untidy=$(retry internal/release/tidy.sh -diff)
[ -z "$untidy" ] || { printf 'not tidy, run internal/release/tidy.sh:\n%s\n' "$untidy"; exit 1; }

# No goroutines of ours meet in these, and they compute: the race detector would make their
# random walks ten times slower.
alone="internal/protocol internal/testing/model internal/upkeep/cron internal/upkeep/plan internal/worker/flow internal/testing/layers internal/testing/fourthkind internal/text/humantime internal/text/words internal/text/wire internal/text/story"
# These look from outside at what is watched in the tests of its own package: a browser at the console's
# pages, and programs of the guide. By night they are watched, too.
outside="internal/release internal/webtest examples/guide examples/nightly examples/searchindex internal/webtest/browser"
[ "${1-}" = -night ] || alone="$outside $alone"
alone=$(go list $(printf './%s ' $alone))
others=$(go list work | grep -vxF -e "$alone")

# Most tests wait for servers most of their time, so many of them run at once. The long
# packages come first, so that none of them is left to run alone.
together="-p 3 -parallel 4 -timeout 20m"
long="server/journaltest internal/testing/system/faults consumer inspector internal/commands rmq examples internal/testing/system/fleets internal/testing/system/kills internal/sharing/keeper internal/sharing/keeper/session server/gatewaytest server/cmd/rmqd internal/testing/servertest"
long=$(go list $(printf './%s ' $long))
if [ "${1-}" = -night ]; then
	export RMQ_NIGHT=1
	together="-p 1 -parallel 1 -timeout 6h" # bounds of real time hold where nothing runs beside
fi

say "go vet, and every test"
{
	go test -json -vet=all -count=1 -shuffle=on $together $alone || true # tally tells
	go test -json -vet=all -race -count=1 -shuffle=on $together $long $(grep -vxF -e "$long" <<<"$others")
} | go run ./internal/testing/tally

if [ "${1-}" = -night ]; then
	set --
	. internal/testing/servertest/onreleases.sh
fi
printf '\nok: all tests passed, none skipped (%s s)\n' $SECONDS
