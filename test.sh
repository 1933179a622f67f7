#!/usr/bin/env bash
# Installs what is missing, then runs every check and every test against real
# servers, which the tests start themselves. Needs Go, and root (or sudo) only when
# something is missing.
#
#	./test.sh                  everything
#	./test.sh -run Merge -v    these tests only: go test -race -run Merge -v ./...
#	./test.sh ./slots          or those of one package
#	./test.sh -servers         those that speak to servers, on other releases of Redis,
#	                           Valkey and ZooKeeper; -servers redis-8.0 ./producer -run
#	                           Merge chooses among them
#
# Nothing is skipped, and nobody has to count: with RMQ_REQUIRE_SERVERS=1 a test
# whose server is missing fails, and internal/testing/layers fails for any other Skip and for
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
command -v curl >/dev/null || missing+=(curl)
command -v chromium >/dev/null || missing+=(chromium fonts-dejavu-core) # the console is looked at
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
export GOFLAGS="${GOFLAGS-} -buildvcs=false" # works in a copy without git, too
retry go mod download

if [ "${1-}" = -servers ]; then
	shift
	. internal/testing/servertest/onreleases.sh
	exit
fi
if [ $# -gt 0 ]; then
	[[ " $* " == *" ./"* ]] || set -- "$@" ./...
	go test -race -count=1 "$@"
	exit
fi

say "source"
unformatted=$(find . -name '*.go' -not -path './.git/*' -exec "$(go env GOROOT)/bin/gofmt" -l {} +)
[ -z "$unformatted" ] || { printf 'not formatted, run gofmt -w on:\n%s\n' "$unformatted"; exit 1; }
go vet ./...
tidy() { diff=$(go mod tidy -diff) || [ -n "$diff" ]; } # a difference is an answer, not a hiccup
retry tidy
[ -z "$diff" ] || { printf 'not tidy, run go mod tidy:\n%s\n' "$diff"; exit 1; }

# They judge real sessions by their time-outs, which millions of messages beside them
# would stretch.
say "sessions with ZooKeeper, with the race detector"
go test -race -count=1 -shuffle=on -timeout 30m ./internal/keeper

# The long ones first, which mostly wait, so that none of them is left to run alone.
say "every other test, with the race detector"
long="./rmq ./consumer ./luascripts ./internal/commands ./inspector ./producer"
go test -race -count=1 -shuffle=on -p 3 -timeout 30m $long $(go list ./... | grep -vxF -e "$(go list ./internal/keeper $long)")

# The race detector makes random walks some ten times slower, so they shorten
# themselves under it; here they run at full length.
say "the long random tests, without it"
go test -count=1 -p 2 -timeout 30m ./internal/testing/model ./internal/cron ./luascripts
go test -count=1 -timeout 30m -run Storm ./producer

for mod in $(find . -mindepth 2 -name go.mod -not -path '*/testdata/*'); do
	say "module ${mod%/go.mod}"
	(cd "${mod%/go.mod}" && retry go mod download && go vet ./... && go test -race -count=1 -p 2 -timeout 30m ./...)
done

printf '\nok: all tests passed, none skipped (%s s)\n' $SECONDS
