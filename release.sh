#!/usr/bin/env bash
# Makes the commit of a release: one version in every module, the day in CHANGELOG.md, every test passed. It publishes
# nothing, and prints what does.
#
#	./release.sh v0.2.0
set -euo pipefail
cd "$(dirname "$0")"
die() { printf 'release.sh: %s\n' "$*" >&2; exit 1; }

version=${1-}
[[ $version =~ ^v[01]\.[0-9]+\.[0-9]+$ ]] || die "which version? One such as v0.2.0, not \"$version\""
changed=$(git status --porcelain)
[ -z "$changed" ] || die "not committed yet:"$'\n'"$changed"
last=$(git tag --list 'v*' --sort=version:refname | tail -1)
[ "$last" != "$version" ] && [ "$(printf '%s\n' "$last" "$version" | sort -V | tail -1)" = "$version" ] || die "$last is released already"
heading=$(grep -m1 '^## ' CHANGELOG.md)
[[ $heading =~ ^"## $version"($|[^0-9.]) ]] || die "CHANGELOG.md must begin with $version, not with \"$heading\""
grep -q '^Not released yet\.$' CHANGELOG.md || die "CHANGELOG.md must say of $version: Not released yet."
replaced=$(git grep -nE 'go mod edit -replace|has been released yet|[Oo]nce there is a release|nothing is released' -- '*.md' || true)
[ -z "$replaced" ] || die "these lines are for before the first release:"$'\n'"$replaced"

mapfile -t files < <(git grep -lE 'EveryModuleMustBe_v[0-9]' -- '*.go' && git ls-files CHANGELOG.md go.work '*go.mod')
trap 'git checkout -q HEAD -- "${files[@]}"; echo "release.sh: nothing is changed" >&2' EXIT
module=$(sed -n 's/^module //p' go.mod)
sed -i "s/^Not released yet\.$/Released on $(date +%F)./" CHANGELOG.md
sed -i "s/^const Number = .*/const Number = \"$version\"/" internal/version/version.go
git grep -lE 'EveryModuleMustBe_v[0-9]' -- '*.go' | xargs sed -i -E "s/EveryModuleMustBe_v[0-9_]+/EveryModuleMustBe_${version//./_}/"
git ls-files go.work '*go.mod' | xargs sed -i -E "s#($module[a-z/]*) v[0-9.]+#\1 $version#"
./test.sh
others=$(git status --porcelain | cut -c4- | grep -vxF -f <(printf '%s\n' "${files[@]}") || true)
[ -z "$others" ] || die "changed while the tests ran:"$'\n'"$others"
git commit -qm "$version" -- "${files[@]}"
trap - EXIT

tags=$version
for mod in rmqotel rmqprom rmqproto server; do tags+=" $mod/$version"; done
cat <<END
$version is committed, and nobody has it yet. This publishes it:

	for tag in $tags; do git tag -m $version \$tag; done
	git push --atomic origin HEAD $tags
END
