#!/usr/bin/env bash
# Tidies the go.mod of every module, or with -diff prints what is not tidy, and changes nothing. The modules require
# each other at the version that comes next. Nobody can fetch that yet, so `go mod tidy` alone fails: it is given a
# copy of go.mod that says where they are.
set -euo pipefail
cd "$(dirname "$0")/../.."
export GOWORK=off
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
root=$PWD

edit() { (cd "$copy" && go mod edit "$@"); }
take_in() {
	for own in . rmqprom server; do
		edit -replace "$(sed -n 's/^module //p' "$root/$own/go.mod")=$root/$own"
	done
}
take_out() {
	for own in . rmqprom server; do
		edit -dropreplace "$(sed -n 's/^module //p' "$root/$own/go.mod")"
	done
}

for mod in $(find . -name go.mod -not -path '*/testdata/*' -printf '%h\n'); do
	cp "$mod/go.mod" "$copy/go.mod"
	if [ -e "$mod/go.sum" ]; then cp "$mod/go.sum" "$copy/go.sum"; else rm -f "$copy/go.sum"; fi
	take_in
	if [ "${1-}" = -diff ]; then
		diff=$(go -C "$mod" mod tidy -diff -modfile="$copy/go.mod") || [ -n "$diff" ] # of a difference it ends with 1, as of a fault
		[ -z "$diff" ] || printf '%s\n%s\n' "$mod" "$diff"
		continue
	fi
	go -C "$mod" mod tidy -modfile="$copy/go.mod"
	take_out
	cp "$copy/go.mod" "$mod/go.mod"
	[ ! -e "$copy/go.sum" ] || cp "$copy/go.sum" "$mod/go.sum"
done
