#!/usr/bin/env bash
# Fetches servers of other releases from Debian and unpacks them beside the system,
# of which nothing is changed: no root is needed.
#
#	releases.sh FOLDER redis-8.0 zookeeper-3.9 ...
#
# FOLDER/redis-8.0/redis-server is then what RMQ_TEST_REDIS_SERVER takes, and
# FOLDER/zookeeper-3.9/usr/share/java what RMQ_TEST_ZOOKEEPER_JARS does. What is
# there already is not fetched again.
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd)
shift

# The same mirror as this machine's packages.
debian=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -v '^#' |
	grep -oE '[a-z+]+://[^[:space:]]+/debian/?([[:space:]]|$)' | head -1) || true
if [ -z "$debian" ] || ! command -v dpkg >/dev/null; then
	echo "Servers of other releases come from a mirror of Debian: this machine's apt has none." >&2
	exit 1
fi

apt=$folder/apt.$$
trap 'rm -rf "$apt"' EXIT

# of RELEASE makes an apt that knows that release only, and believes that nothing is
# installed, so that it names everything a package needs.
of() {
	local keys=/usr/share/keyrings/debian-archive-keyring.gpg
	rm -rf "$apt" && mkdir -p "$apt"/{none,lists/partial,cache/archives/partial} && : >"$apt/status"
	[ -e $keys ] && keys="[signed-by=$keys] " || keys=
	echo "deb $keys$debian $1 main" >"$apt/sources.list"
	cat >"$apt/conf" <<-END
		Dir::State "$apt";
		Dir::State::status "$apt/status";
		Dir::Cache "$apt/cache";
		Dir::Etc::sourcelist "$apt/sources.list";
		Dir::Etc::sourceparts "$apt/none";
		Dir::Etc::parts "$apt/none";
		Dir::Etc::preferencesparts "$apt/none";
		APT::Sandbox::User "root";
		APT::Install-Recommends "false";
		Acquire::Languages "none";
		Debug::NoLocking "1";
	END
	apt-config dump | grep -E '^Acquire::(http|https)::' >>"$apt/conf" || true # proxies
	own update -qq
}

own() { APT_CONFIG=$apt/conf apt-get "$@"; }

# unpack RELEASE INTO WANTED PACKAGE fetches the package and what it needs, of which
# the names that fit WANTED do.
unpack() {
	local all
	of "$1"
	all=$(own -s -qq install "$4" | awk '/^Inst/ {print $2}' | grep -E -- "$3")
	rm -rf "$2.part" && mkdir -p "$2.part/debs"
	(cd "$2.part/debs" && own -qq download $all)
	for deb in "$2.part"/debs/*.deb; do dpkg -x "$deb" "$2.part"; done
	rm -rf "$2.part/debs"
}

# redis NAME RELEASE PACKAGE BINARY SERVER: the tools hold the server, which decides by
# the name it is started under what it is. The libraries of another release need its
# loader.
redis() {
	local to=$folder/$1
	unpack "$2" "$to" '^(lib|lua-|zlib1g$|'"$3"'$)' "$3"
	ln -s "$4" "$to.part/usr/bin/$5"
	cat >"$to.part/redis-server" <<-END
		#!/bin/sh
		exec "$to"/ld.so --library-path "$(cd "$to.part" && echo lib/*-linux-gnu* usr/lib/*-linux-gnu* | sed "s|[^ ]*|$to/&|g; s| |:|g")" "$to/usr/bin/$5" "\$@"
	END
	chmod +x "$to.part/redis-server"
	(cd "$to.part" && ln -s "$(find . -name 'ld-linux*.so*' -type f -o -name 'ld-[0-9.]*.so' -type f | head -1)" ld.so)
	mv "$to.part" "$to"
}

zookeeper() {
	unpack "$2" "$folder/$1" '-java$' libzookeeper-java
	mv "$folder/$1.part" "$folder/$1"
}

for name; do
	[ ! -e "$folder/$name" ] || continue
	echo "fetching $name"
	case $name in
	redis-6.0) redis $name bullseye redis-tools redis-check-rdb redis-server ;;
	redis-7.0) redis $name bookworm redis-tools redis-check-rdb redis-server ;;
	redis-8.0) redis $name trixie redis-tools redis-check-rdb redis-server ;;
	valkey-8.1) redis $name trixie valkey-tools valkey-check-rdb valkey-server ;;
	zookeeper-3.4) zookeeper $name bullseye ;;
	zookeeper-3.8) zookeeper $name bookworm ;;
	zookeeper-3.9) zookeeper $name trixie ;;
	*) echo "no such server: $name" >&2 && exit 1 ;;
	esac
done
