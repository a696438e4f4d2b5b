/** Security headers of pages: content security policies, framing, caching, HSTS. */

/** Headers of pages without script: nothing may be loaded, no site may frame them. */
export const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

/** Style, script and data are same-origin files; nothing is inline. */
const policyOf = (images: string, last: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src 'self' ${images}`,
    "connect-src 'self'",
    "font-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    last,
  ].join('; ')
const APP_CSP = policyOf('data:', "require-trusted-types-for 'script'")
/** Scripts position popovers, without a `style` attribute in markup. */
const DASHBOARD_CSP = policyOf('data: blob:', "manifest-src 'self'")
const YEAR_S = 31_536_000

/** Headers of the sign-in pages and session endpoints (WEB-3). @param publicUrl With https, HSTS is sent. */
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

const UNUSED_FEATURES = ['camera', 'display-capture', 'geolocation', 'microphone', 'payment', 'usb']

/** Headers of the documentation; `cache-control` is the file's. @param publicUrl With https, HSTS is sent. */
export function documentationHeaders(publicUrl: string): Readonly<Record<string, string>> {
  return { ...dashboardHeaders(publicUrl), 'content-security-policy': APP_CSP }
}

/** Its component sets `innerHTML`, after sanitising: see docs/decisions/0022-documentation-site.md. */
export const referenceHeaders = dashboardHeaders

/** Headers of the dashboard's page; `cache-control` is the file's. @param publicUrl With https, HSTS is sent. */
export function dashboardHeaders(publicUrl: string): Readonly<Record<string, string>> {
  return {
    ...appHeaders(publicUrl),
    'content-security-policy': DASHBOARD_CSP,
    'permissions-policy': UNUSED_FEATURES.map((feature) => `${feature}=()`).join(', '),
  }
}
