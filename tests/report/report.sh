#!/usr/bin/env bash
# report.sh TRAIN_LM CHECK_PAGE [SCREENSHOTS]: the report of the training program, opened in a real Chromium
# without a window: no console message, the numbers shown are the JSON's, no sideways scrolling on a phone. Exits
# with 77 where Chromium is absent. With a folder as third argument, also takes the screenshots of docs/. A
# program report_thrifty (tests/report/thrifty.cpp) lies beside CHECK_PAGE.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../support/check.sh"
program=$(realpath "$1") check_page=$(realpath "$2") shots=${3:+$(realpath "$3")}
thrifty=$(dirname "$check_page")/report_thrifty
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$browser" ]; then
  echo "skipped: no Chromium (Debian: chromium)"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
browse() {  # width, height, arguments...: what the browser says of the page goes to stderr
  local width=$1 height=$2
  shift 2
  timeout 120 "$browser" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/profile" \
    --enable-logging=stderr --window-size="$width,$height" --virtual-time-budget=5000 "$@"
}
dump() { browse "$1" 1000 --dump-dom "file://$work/$2" >"$2.dom" 2>"$2.log"; }
silent() { [ -s "$1.dom" ] && ! grep -E 'CONSOLE' "$1.log"; }
# with_script PAGE SCRIPT: a copy of the page, with a script at its end, as PAGE.more.html
with_script() { sed "s|^</body>|<script>$2</script></body>|" "$1" >"$1.more.html"; }

device=(--device "NVIDIA H100 SXM")
"$program" --cost --json "${device[@]}" --report cost.html >cost.json || exit 1
dump 1100 cost.html
check "a page of costs opens without a console message" silent cost.html
check "its numbers are those of --json" "$check_page" cost.html.dom cost.json
check "it names no other file or host" bash -c '! grep -Eio "(src|href) *=|https?://|@import|url\(" cost.html'

"$thrifty" thrifty.html >thrifty.json || exit 1
dump 1100 thrifty.html
check "a page of a step with a budget opens without a console message" silent thrifty.html
check "what it makes again is what its JSON says" "$check_page" thrifty.html.dom thrifty.json
check "and is seen" bash -c 'grep -q "<div id=\"remade\">" thrifty.html.dom'
check "without a budget nothing is" bash -c 'grep -q "<div id=\"remade\" hidden" cost.html.dom'

# The checks themselves: each sees what it is for.
with_script cost.html "console.error('told')"
dump 1100 cost.html.more.html
check "a console message is seen" bash -c 'grep -q "CONSOLE.*told" cost.html.more.html.log'
with_script cost.html "fetch('https://example.com')"
dump 1100 cost.html.more.html
check "the page may not use the network" bash -c 'grep -q "Content Security Policy" cost.html.more.html.log'
sed '0,/"least_seconds": [0-9.e-]*/s//"least_seconds": 123.0/' cost.json >wrong.json
check "another number is seen" bash -c "'$check_page' cost.html.dom wrong.json | grep 'least_seconds is shown as'"
sed '0,/"count": [0-9]*/s//"count": 987654/' thrifty.json >wrong.json
check "another count of values made again is seen" bash -c "'$check_page' thrifty.html.dom wrong.json | grep 'values made again'"
sed 's|const separated = .*|const separated = (n) => String(n);|' cost.html >wrong.html
dump 1100 wrong.html
check "a number in other words is seen" bash -c "'$check_page' wrong.html.dom cost.json | grep '/tokens is shown as'"

# In a frame, as a window has at least 500 pixels.
for width in 360 768; do
  with_script cost.html "console.info('beyond ' + (document.documentElement.scrollWidth - innerWidth) + ' of ' + innerWidth)"
  echo "<!doctype html><iframe src=cost.html.more.html style='width:${width}px;height:900px;border:0'>" >frame.html
  dump 1100 frame.html
  check "at $width pixels nothing stands out sideways" grep -E "beyond (0|-[0-9]+) of $width" frame.html.log
done
# Hovering a point of the roofline tells what it is.
with_script cost.html "document.querySelector('[data-tip=kernel]').dispatchEvent(new PointerEvent('pointermove', {bubbles: true}))"
dump 1100 cost.html.more.html
check "a point tells of its kernel" bash -c 'grep -A1 "id=\"tip\"[^>]*>[^<]" cost.html.more.html.dom | grep -q kernel'
check "without a message" silent cost.html.more.html

for i in $(seq 300); do echo "line $i of a text that is long enough to train on"; done >text.txt
"$program" --data text.txt --out . --steps "${steps:-18}" --eval-every 100000 --sample 5 --report run.html >run.txt || exit 1
sed -n '/id="account">/,/^<\/script>/p' run.html | sed '1d;$d' >run.json
dump 1100 run.html
check "a page of a run opens without a console message" silent run.html
check "its numbers, measured ones too, are its JSON's" "$check_page" run.html.dom run.json
check "it has the measured column and the loss" grep -q '"flops_per_second"' run.json

if [ -n "$shots" ]; then
  shot() { browse "$2" "$3" --run-all-compositor-stages-before-draw \
      --screenshot="$shots/$1" "file://$work/$4" 2>/dev/null; }
  # the lower half: the page without what is above it and the long table
  sed 's|^</head>|<style>section:nth-of-type(-n+3), #layer-table { display: none } h2 { margin-top: 1rem }</style></head>|' run.html >below.html
  shot report-light.png 900 1270 "run.html?scheme=light"
  shot report-dark.png 900 1200 "below.html?scheme=dark"
  shot report-phone.png 360 1560 "run.html?scheme=light"
fi
finish report
