/** Of pages without script: nothing may be loaded from anywhere, and nobody may frame them. */
export const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

/** Style, script and data come from here alone, as files; nothing is in line. */
const APP_CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')
const YEAR_S = 31_536_000

/** Of the dashboard's pages and answers (WEB-3). @param publicUrl With https, browsers are told to stay with it. */
export function appHeaders(publicUrl: string): Readonly<Record<string, string>> {
  return {
    'content-security-policy': APP_CSP,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cache-control': 'no-store',
    ...(publicUrl.startsWith('https:') && { 'strict-transport-security': `max-age=${YEAR_S}; includeSubDomains` }),
  }
}
