/** Operators write base URLs with and without the version that a protocol's paths begin with: it is taken once. */
export function joinUrl(baseUrl: string, path: string): string {
  const version = /^\/v\d\w*(?=\/)/.exec(path)?.[0]
  return version !== undefined && baseUrl.endsWith(version) ? baseUrl + path.slice(version.length) : baseUrl + path
}
