#!/usr/bin/env bash
# Moves the fragments in changes/ into CHANGELOG.md: each to the top of the heading of its kind
# below Unreleased, which is added when it is missing. Run in the repository's root.
set -euo pipefail
shopt -s nullglob

for kind in Security Removed Deprecated Changed Fixed Added; do
	fragments=(changes/*."${kind,,}".md)
	[ ${#fragments[@]} -gt 0 ] || continue
	cat "${fragments[@]}" | awk -v heading="### $kind" '
		FILENAME == "-" { lines = lines $0 "\n"; next }
		/^## / { if (within && !put) { printf "%s\n\n%s\n", heading, lines; put = 1 } within = $0 == "## Unreleased" }
		{ print }
		within && $0 == heading && !put { getline; printf "\n%s", lines; put = 1 }
		END { if (within && !put) printf "\n%s\n\n%s", heading, lines; else if (!put) exit 1 }
	' - CHANGELOG.md >CHANGELOG.md.new || { rm -f CHANGELOG.md.new; echo "CHANGELOG.md has no heading \"## Unreleased\"" >&2; exit 1; }
	mv CHANGELOG.md.new CHANGELOG.md
	rm "${fragments[@]}"
done

left=$(find changes -type f ! -name README.md)
[ -z "$left" ] || { echo "no kind of change that CHANGELOG.md has: $left" >&2; exit 1; }
