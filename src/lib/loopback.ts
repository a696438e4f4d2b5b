const IPV4_LOOPBACK = /^127(?:\.\d{1,3}){3}$/

/** Whether an address names this machine itself: what is sent there in clear passes no network. */
export function isLoopbackUrl(url: URL): boolean {
  return url.hostname === 'localhost' || url.hostname === '[::1]' || IPV4_LOOPBACK.test(url.hostname)
}
