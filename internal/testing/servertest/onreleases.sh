# The tests that speak to servers, on other releases of them: ./test.sh -servers. It goes
# on after a failure, and tells at the end how each went.
#
# Sourced by test.sh, from the root of the repository, which may change what follows.
folder=${XDG_CACHE_HOME:-$HOME/.cache}/go-rmq-servers
pairs=("redis-7.0 zookeeper-3.8" "redis-8.0 zookeeper-3.9" "valkey-8.1 zookeeper-3.9" "redis-6.0 zookeeper-3.4")

chosen=()
while [[ ${1-} =~ ^(redis|valkey|zookeeper)-[0-9.]+$ ]]; do chosen+=("$1") && shift; done

packages=$(go list -f '{{.ImportPath}} {{join .TestImports " "}} {{join .XTestImports " "}}' work |
	awk '/internal\/testing\/servertest( |$)/ {print $1}')
[ -n "$packages" ] || { echo "no package was found that speaks to servers" >&2 && exit 1; }
told=() failed=
for pair in "${pairs[@]}"; do
	[ ${#chosen[@]} = 0 ] || [[ " ${chosen[*]} " =~ " ${pair% *} "|" ${pair#* } " ]] || continue
	redis=${pair% *} zookeeper=${pair#* }
	retry internal/testing/servertest/releases.sh "$folder" $pair
	export RMQ_TEST_REDIS_SERVER=$folder/$redis/redis-server RMQ_TEST_ZOOKEEPER_JARS=$folder/$zookeeper/usr/share/java
	say "$redis and $zookeeper"
	begun=$SECONDS ok=ok
	if [ $redis = redis-6.0 ]; then # which is refused; and ZooKeeper 3.4 knows no TLS
		go test -count=1 -run TestReleaseOfRedis ./rmq || ok=FAILED
		go test -count=1 -skip TLS ./internal/sharing/keeper || ok=FAILED
	elif [ $# -gt 0 ]; then
		[[ " $* " == *" ./"* ]] || set -- "$@" $packages
		go test -count=1 "$@" || ok=FAILED
	else
		go test -count=1 -timeout 30m -p 4 -parallel 8 $packages || ok=FAILED
	fi
	[ $ok = ok ] || failed=yes
	told+=("$pair: $ok ($((SECONDS - begun)) s)")
done
say "on other releases"
printf '%s\n' ${told[@]+"${told[@]}"}
[ ${#told[@]} -gt 0 ] || { echo "there is no such server; there are: ${pairs[*]}" >&2 && exit 1; }
[ -z "$failed" ]
