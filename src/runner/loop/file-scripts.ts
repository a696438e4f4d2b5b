/**
 * What the file tools run within the sandbox; paths come in already quoted. Each says first, on a line of its own, what it
 * found. A path that is a device or a pipe is never opened.
 */

/** `missing`, `other`, `directory`, `binary BYTES`, `file BYTES LINES`, then names or lines. */
export function viewScript(path: string, [from, to]: readonly [number, number], maxBytes: number): string {
  return `p=${path}
LC_ALL=C; export LC_ALL
if [ -d "$p" ]; then echo directory; ls -1Ap "$p" | head -c ${maxBytes}
elif [ ! -e "$p" ]; then echo missing
elif [ ! -f "$p" ]; then echo other
elif [ ! -r "$p" ]; then echo unreadable
elif [ "$(head -c 8000 "$p" | tr -d '\\000' | wc -c)" -ne "$(head -c 8000 "$p" | wc -c)" ]; then echo binary $(wc -c < "$p")
else echo file $(wc -c < "$p") $(grep -ac '' "$p"); sed -n '${from},${to}p' "$p" | head -c ${maxBytes}
fi`
}

/** `missing`, `other`, `large BYTES`, `file`, then its bytes in base64. */
export function readScript(path: string, maxBytes: number): string {
  return `p=${path}
if [ -d "$p" ]; then echo directory
elif [ ! -e "$p" ]; then echo missing
elif [ ! -f "$p" ]; then echo other
elif [ ! -r "$p" ]; then echo unreadable
elif [ "$(wc -c < "$p")" -gt ${maxBytes} ]; then echo large $(wc -c < "$p")
else echo file; base64 < "$p"
fi`
}

/** Keeps mode and links of what is there. Says how many bytes there are afterwards. */
export function writeScript(path: string): string {
  return `p=${path}
if [ -e "$p" ] && [ ! -f "$p" ]; then echo other; exit 0; fi
mkdir -p -- "$(dirname "$p")" && cat > "$p" && echo written $(wc -c < "$p")`
}

/** `missing`, `file BYTES`, `other`. */
export function statScript(path: string): string {
  return `p=${path}
if [ -f "$p" ]; then echo file $(wc -c < "$p")
elif [ -e "$p" ] || [ -L "$p" ]; then echo other
else echo missing
fi`
}

/**
 * Matches on stdout. A pattern that cannot be read is looked for as it is: `literal` on stderr. It is tried on nothing first,
 * since the search itself ends alike for such a pattern and for a file that it may not read.
 */
export function searchScript({ pattern, path, maxLines }: { pattern: string; path: string; maxLines: number }): string {
  return `p=${path}
if command -v rg >/dev/null 2>&1; then
  attempt() { rg -q -e ${pattern} -; }
  search() { rg --no-heading --color never --no-messages -H -n $1 -e ${pattern} -- "$p"; }
else
  attempt() { grep -qE -e ${pattern}; }
  search() { grep -rnIHs \${1:--E} --exclude-dir=.git --exclude-dir=node_modules -e ${pattern} -- "$p"; }
fi
[ -e "$p" ] || { echo missing >&2; exit 0; }
attempt < /dev/null 2>/dev/null
if [ $? -eq 2 ]; then echo literal >&2; search -F; else search; fi | head -n ${maxLines}`
}
