/** What a program says of itself, as people would say it. Anybody can claim to be anything. */

const LONGEST = 60
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:iPhone|iPad|iOS)\b/, 'iOS'],
  [/\bAndroid\b/i, 'Android'],
  [/\bWindows|\bwin32\b/i, 'Windows'],
  [/\bMac ?OS|\bMacintosh|\bdarwin\b/i, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\blinux\b/i, 'Linux'],
]
/** The more special ones first: all call themselves Safari, and most Chrome. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]

/** @returns Such as `turnpike on Linux`; undefined when nothing readable is said. */
export function describeUserAgent(userAgent: string | undefined): string | undefined {
  const readable = readableText(userAgent ?? '')
  const program = readable.startsWith('Mozilla/') ? find(BROWSERS, readable) : firstName(readable)
  const system = find(SYSTEMS, readable)
  if (program === undefined) return system === undefined ? undefined : `a program on ${system}`
  return system === undefined || program.toLowerCase() === system.toLowerCase() ? program : `${program} on ${system}`
}

/** Without what cannot be seen, and what turns the direction of writing. */
export function readableText(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '').trim()
}

function find(names: readonly (readonly [RegExp, string])[], text: string): string | undefined {
  return names.find(([pattern]) => pattern.test(text))?.[1]
}

/** Of `turnpike-cli/1.2 (linux; x64)` the part before the slash. */
function firstName(text: string): string | undefined {
  const name = text.split(/[/(;]/, 1)[0]?.trim().slice(0, LONGEST) ?? ''
  return name === '' ? undefined : name
}
