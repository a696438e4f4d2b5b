/** One class attribute of several parts; what is not there is left out. */
export function classNames(...parts: readonly (string | false | null | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== null && part !== false && part !== '').join(' ')
}
