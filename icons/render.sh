#!/bin/sh
# Renders every picture of this folder from its drawing. Needs rsvg-convert, ImageMagick and python3.
set -eu
cd "$(dirname "$0")"
draw() { rsvg-convert -w "$2" -h "$2" "$1" -o "$3"; }
sizes=$(mktemp -d)
trap 'rm -r "$sizes"' EXIT

draw vidimus.svg 32 32x32.png
draw vidimus.svg 128 128x128.png
draw vidimus.svg 256 128x128@2x.png
draw vidimus.svg 512 icon.png
for name in idle waiting offline; do draw "tray/$name.svg" 64 "tray/$name.png"; done
for size in 16 32 48 64 128 256 512; do draw vidimus.svg "$size" "$sizes/$size.png"; done
convert "$sizes/16.png" "$sizes/32.png" "$sizes/48.png" "$sizes/256.png" icon.ico
python3 - "$sizes" <<'PYTHON'
import struct
import sys

# Apple's container: a four-letter kind and a length before each PNG.
kinds = {"ic11": 32, "ic12": 64, "ic07": 128, "ic08": 256, "ic09": 512}
entries = b""
for kind, size in kinds.items():
    with open(f"{sys.argv[1]}/{size}.png", "rb") as picture:
        data = picture.read()
    entries += kind.encode() + struct.pack(">I", len(data) + 8) + data
with open("icon.icns", "wb") as icon:
    icon.write(b"icns" + struct.pack(">I", len(entries) + 8) + entries)
PYTHON
